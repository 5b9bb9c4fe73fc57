from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from limite.core.checkpoint import write
from limite.core.checkpoint.manifest import check_payload_names, step_name, step_of, verify
from limite.core.checkpoint.read import newest_checkpoint, read_checkpoint
from limite.core.checkpoint.write import write_checkpoint
from limite.core.errors import LimiteError
from limite.core.jsonl import dumps

Save = Callable[..., Path]


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def seal(checkpoint: Path, **changes: Any) -> None:
    """Edits a manifest and makes its own hash right again, as only a forger would."""
    data = json.loads((checkpoint / "manifest.json").read_text()) | changes
    data.pop("sha256")
    data["sha256"] = hashlib.sha256(dumps(data).encode()).hexdigest()
    (checkpoint / "manifest.json").write_text(dumps(data))


def test_a_checkpoint_gives_back_what_was_saved(save: Save) -> None:
    path = save(100)
    assert path.name == "step-000100"
    assert names(path) == [
        "manifest.json",
        "model.safetensors",
        "optimizer.safetensors",
        "state.json",
    ]
    read = read_checkpoint(path)
    assert (read.path, read.step) == (path, 100)
    assert read.state == {"clocks": {"step": 100, "time_s": 0.25}}
    assert read.contract == {"budget": "fixed-response"}
    assert torch.equal(read.payloads["model"]["weight"], torch.full((3, 5), 100.0))
    assert read.payloads["model"]["scale"].dtype is torch.bfloat16
    assert read.payloads["optimizer"]["state/0/step"].shape == ()
    newest = newest_checkpoint(path.parent)
    assert newest is not None
    assert newest.step == 100


def test_writing_is_the_same_byte_for_byte(save: Save, tmp_path: Path) -> None:
    first = contents(save(7, folder=tmp_path / "a"))
    assert contents(save(7, folder=tmp_path / "b")) == first


def test_a_state_keeps_types_that_json_lacks(tmp_path: Path) -> None:
    state = {"z": (1, float("inf")), "a": {3: [None]}}
    read = read_checkpoint(write_checkpoint(tmp_path, 1, {}, state, {"x": (1,)}, 1))
    assert repr(read.state) == repr(state)
    assert read.contract == {"x": (1,)}


def test_only_the_payloads_asked_for_are_kept_but_all_are_verified(save: Save) -> None:
    path = save(1)
    assert set(read_checkpoint(path, only=("model",)).payloads) == {"model"}
    with pytest.raises(LimiteError, match="no payload 'modle'; did you mean 'model'"):
        read_checkpoint(path, only=("modle",))
    (path / "optimizer.safetensors").write_bytes(b"")
    with pytest.raises(LimiteError, match=r"optimizer\.safetensors: 0 bytes where"):
        read_checkpoint(path, only=("model",))


LEAVES = [
    "",
    ".",
    "..",
    "a/b",
    "a\\b",
    "/etc/x",
    "../x",
    ".hidden",
    "a..b",
    "a.",
    "a b",
    "é",
    "x\0",
]
RESERVED = ["x\0", "state", "manifest", "CON", "nul", "aux.1", "com1", "a" * 101, "a\n", "-x"]


@pytest.mark.parametrize("name", LEAVES + RESERVED)
def test_names_that_are_no_plain_leaf_are_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(LimiteError, match="payload"):
        write_checkpoint(tmp_path / "c", 1, {name: {"x": torch.zeros(1)}}, {}, {}, 1)
    assert not (tmp_path / "c").exists()


def test_names_that_differ_only_in_case_are_refused() -> None:
    check_payload_names(["model", "model.ema", "critic_1", "v-2"])
    with pytest.raises(LimiteError, match="'model' and 'Model' differ only in case"):
        check_payload_names(["model", "Model"])


def test_step_names_read_back_and_nothing_else_does() -> None:
    assert [step_of(step_name(step)) for step in (0, 100, 12_345_678)] == [0, 100, 12_345_678]
    for name in ("step-1", "step-0000001", "step--00001", "step-00000a", ".step-000001", "step-"):
        assert step_of(name) is None


def test_a_state_that_is_not_plain_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(LimiteError, match=r"state/curriculum/seen: builtins\.set cannot be saved"):
        write_checkpoint(tmp_path, 1, {}, {"curriculum": {"seen": {1}}}, {}, 1)
    assert names(tmp_path) == []


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_newest_are_kept(save: Save, keep: int) -> None:
    for step in range(1, 6):
        path = save(step, keep=keep)
        assert names(path.parent) == [
            step_name(number) for number in range(max(1, step - keep + 1), step + 1)
        ]
    with pytest.raises(LimiteError, match="keep must be at least 1"):
        save(6, keep=0)


@pytest.mark.parametrize("keep", [1, 2])
def test_those_of_pinned_steps_stay_beside_the_newest(save: Save, keep: int) -> None:
    for step in range(1, 7):
        path = save(step, keep=keep, pinned={2, 3, 9})
        newest = range(max(1, step - keep + 1), step + 1)
        kept = sorted({*newest, *(each for each in (2, 3) if each <= step)})
        assert names(path.parent) == [step_name(number) for number in kept]
    save(7, keep=1)  # nobody asks for them any more
    assert names(path.parent) == [step_name(7)]


def test_a_broken_checkpoint_does_not_take_the_place_of_a_good_one(save: Save) -> None:
    folder = save(1, keep=3).parent
    (save(2, keep=3) / "model.safetensors").write_bytes(b"short")
    save(3, keep=2)
    assert names(folder) == ["step-000001", "step-000003"]


def test_old_checkpoints_stay_until_the_new_one_is_read_back(
    save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save(1, keep=1).parent
    sync = os.fsync

    def lying_disk(file: int) -> None:
        sync(file)
        place = folder / f"{os.readlink(f'/proc/self/fd/{file}')}"
        if place.name == "model.safetensors":
            place.write_bytes(b"\0" * place.stat().st_size)

    monkeypatch.setattr(os, "fsync", lying_disk)
    with pytest.raises(LimiteError, match=r"step-000002/model\.safetensors: its content"):
        save(2, keep=1)
    monkeypatch.undo()
    assert (folder / "step-000001").is_dir()
    newest = newest_checkpoint(folder)
    assert newest is not None
    assert newest.step == 1
    save(2, keep=1)
    assert names(folder) == ["step-000002"]


def test_the_same_step_again_stays_as_it_was(save: Save) -> None:
    path = save(1)
    before = contents(path), (path / "model.safetensors").stat().st_ino
    assert save(1) == path
    assert (contents(path), (path / "model.safetensors").stat().st_ino) == before
    assert names(path.parent) == ["step-000001"]


def test_other_weights_for_the_same_step_are_refused(save: Save) -> None:
    path = save(1)
    before = contents(path)
    with pytest.raises(LimiteError, match=r"holds other values in model\.safetensors; a check"):
        write_checkpoint(
            path.parent,
            1,
            {
                "model": {"weight": torch.zeros(1)},
                "optimizer": read_checkpoint(path).payloads["optimizer"],
            },
            {},
            {},
            2,
        )
    assert contents(path) == before
    assert names(path.parent) == ["step-000001"]


def test_a_broken_checkpoint_of_the_same_step_is_replaced(save: Save) -> None:
    path = save(1)
    good = contents(path)
    (path / "model.safetensors").write_bytes(b"")
    (path / "stray").write_text("x")
    save(1)
    assert contents(path) == good
    assert names(path.parent) == ["step-000001"]


def truncate(place: Path) -> None:
    os.truncate(place, place.stat().st_size // 2)


def flip(place: Path) -> None:
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)


def edit(path: Path, old: str, new: str) -> None:
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text().replace(old, new))


Damage = Callable[[Path], object]
DAMAGE: dict[str, tuple[Damage, str]] = {
    "truncated weights": (
        lambda path: truncate(path / "model.safetensors"),
        r"model\.safetensors: \d+ bytes where the manifest says \d+",
    ),
    "edited weights": (
        lambda path: flip(path / "model.safetensors"),
        r"model\.safetensors: its content does not match",
    ),
    "missing weights": (
        lambda path: (path / "optimizer.safetensors").unlink(),
        r"optimizer\.safetensors: No such file",
    ),
    "edited state": (
        lambda path: flip(path / "state.json"),
        r"state\.json: its content does not match",
    ),
    "no manifest": (
        lambda path: (path / "manifest.json").unlink(),
        r"it has no manifest\.json",
    ),
    "half a manifest": (
        lambda path: truncate(path / "manifest.json"),
        r"manifest\.json: not JSON",
    ),
    "empty manifest": (
        lambda path: os.truncate(path / "manifest.json", 0),
        r"manifest\.json: not JSON",
    ),
    "edited manifest": (
        lambda path: edit(path, "fixed-response", "native-context"),
        r"manifest\.json: .* it was edited",
    ),
    "some other manifest": (
        lambda path: (path / "manifest.json").write_text("[]"),
        r"manifest\.json: not the manifest of a limite checkpoint",
    ),
    "renamed": (
        lambda path: seal(path, step=1),
        r"manifest\.json: it is of step 1, but the folder says 2",
    ),
    "from the future": (
        lambda path: seal(path, version=99),
        r"format version 99; this limite reads 1",
    ),
    "nothing at all": (
        lambda path: [entry.unlink() for entry in path.iterdir()],
        r"it has no manifest\.json",
    ),
}


@pytest.mark.parametrize(("damage", "reason"), DAMAGE.values(), ids=list(DAMAGE))
def test_damage_is_passed_over_with_a_word_and_refused_by_path(
    save: Save, damage: Damage, reason: str
) -> None:
    folder = save(1).parent
    damage(save(2))
    said: list[str] = []
    newest = newest_checkpoint(folder, echo=said.append)
    assert newest is not None
    assert newest.step == 1
    assert len(said) == 1
    assert said[0].startswith("skipped a broken checkpoint: ")
    with pytest.raises(LimiteError, match=reason) as caught:
        read_checkpoint(folder / "step-000002")
    assert str(folder / "step-000002") in str(caught.value)
    assert str(caught.value) in said[0]
    # What is broken stays for people to look at until its step is written again.
    assert names(folder) == ["step-000001", "step-000002"]


def test_without_a_good_checkpoint_there_is_none(save: Save, tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path / "absent") is None
    path = save(1)
    flip(path / "state.json")
    said: list[str] = []
    assert newest_checkpoint(path.parent, echo=said.append) is None
    assert len(said) == 1
    with pytest.raises(LimiteError, match="no such checkpoint folder"):
        read_checkpoint(tmp_path / "absent")


def test_files_that_the_manifest_does_not_list_are_ignored(save: Save, tmp_path: Path) -> None:
    path = save(1)
    (path / "evil.pt").write_bytes(b"cos\nsystem\n(S'touch /tmp/x'\ntR.")
    (path / "other.safetensors").write_bytes(b"")
    (path / "folder").mkdir()
    assert set(read_checkpoint(path).payloads) == {"model", "optimizer"}
    verify(path)


@pytest.mark.parametrize(
    "name", ["../../secret.safetensors", "/etc/passwd", "model.pt", "sub/x.safetensors", "x.json"]
)
def test_a_forged_manifest_leads_nowhere_else(save: Save, name: str) -> None:
    path = save(1)
    files = json.loads((path / "manifest.json").read_text())["files"]
    seal(path, files=files | {name: files["model.safetensors"]})
    with pytest.raises(LimiteError, match=r"payload|lists files that no checkpoint has"):
        read_checkpoint(path)


def test_a_payload_that_is_no_safetensors_file_is_refused(save: Save) -> None:
    path = save(1)
    content = b"\x80\x04cos\nsystem\n"
    (path / "model.safetensors").write_bytes(content)
    files = json.loads((path / "manifest.json").read_text())["files"]
    record = {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    seal(path, files=files | {"model.safetensors": record})
    with pytest.raises(LimiteError, match=r"model\.safetensors: not a readable safetensors file"):
        read_checkpoint(path)


def test_a_copy_under_another_name_is_still_a_checkpoint(save: Save, tmp_path: Path) -> None:
    copy = shutil.copytree(save(3), tmp_path / "export")
    assert read_checkpoint(copy).step == 3


def test_leftovers_go_when_the_folder_is_opened_or_written(save: Save) -> None:
    folder = save(1).parent
    for action in (lambda: newest_checkpoint(folder), lambda: save(2)):
        for name in (".writing-step-000002-ab", ".broken-step-000001-cd", ".deleting-x"):
            shutil.copytree(folder / "step-000001", folder / name)
        action()
        assert all(not name.startswith(".") for name in names(folder))


def test_a_reader_leaves_a_write_in_progress_alone(save: Save) -> None:
    folder = save(1).parent
    (folder / ".writing-step-000002-ab").mkdir()
    with write._locked(folder) as alone:
        assert alone
        newest = newest_checkpoint(folder)
        assert newest is not None
        assert newest.step == 1
        with pytest.raises(LimiteError, match="another process is writing a checkpoint there"):
            save(2)
    assert names(folder) == [".writing-step-000002-ab", "step-000001"]
