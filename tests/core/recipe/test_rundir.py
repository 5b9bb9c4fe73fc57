from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import append_jsonl, read_jsonl, write_jsonl
from limite.core.receipts import read_receipt
from limite.core.recipe.rundir import RunDirectory

RECIPE = {
    "name": "small",
    "seed": 1,
    "model": {"width": 8, "window": None},
    "stages": {"warm-up": {"type": "sft"}, "rl1": {"type": "rl", "seed": None}},
    "loggers": ("jsonl",),
}
RECEIPT = {"recipe_sha256": "1f3a" + "0" * 60, "python": "3.11"}
Create = Callable[..., RunDirectory]


@pytest.fixture
def create(tmp_path: Path) -> Create:
    def make(**changes: Any) -> RunDirectory:
        arguments = {"recipe": RECIPE, "receipt": RECEIPT, "source_text": "recipe = 1\n"}
        return RunDirectory.create(tmp_path / "runs", **arguments | changes)

    return make


def test_a_new_run_holds_its_recipe_its_source_and_its_receipt(create: Create) -> None:
    run = create()
    assert run.path.name == "small-1f3a"
    assert sorted(entry.name for entry in run.path.iterdir()) == [
        "receipt.json",
        "recipe.source.py",
        "recipe.toml",
        "stages",
    ]
    assert tomllib.loads((run.path / "recipe.toml").read_text()) == {
        "name": "small",
        "seed": 1,
        "model": {"width": 8},
        "stages": {"warm-up": {"type": "sft"}, "rl1": {"type": "rl"}},
        "loggers": ["jsonl"],
    }
    source = run.source()
    assert source is not None
    assert source.read_text() == "recipe = 1\n"
    assert run.receipt() == RECEIPT
    opened = RunDirectory.open(run.path)
    assert opened == run
    assert opened.recipe()["stages"]["rl1"] == {"type": "rl"}


def test_a_run_of_a_recipe_made_in_memory_has_no_source(create: Create) -> None:
    assert create(source_text=None).source() is None
    toml = create(source_suffix=".toml").source()
    assert toml is not None
    assert toml.name == "recipe.source.toml"


def test_a_taken_name_gets_a_number(create: Create) -> None:
    assert [create().path.name for _ in range(3)] == ["small-1f3a", "small-1f3a-2", "small-1f3a-3"]
    # An empty folder is taken too.
    (create().path.parent / "small-1f3a-5").mkdir()
    assert create().path.name == "small-1f3a-6"


def test_a_given_name_is_used_as_it_is_and_never_overwritten(create: Create) -> None:
    run = create(name="mine")
    assert run.path.name == "mine"
    before = (run.path / "recipe.toml").read_bytes()
    with pytest.raises(LimiteError, match=r"--name: .*mine exists .*: limite resume .*/mine$"):
        create(name="mine", recipe=RECIPE | {"seed": 2})
    assert (run.path / "recipe.toml").read_bytes() == before
    assert [entry.name for entry in run.path.parent.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["", "..", "a/b", "/x", ".hidden", "-x", "a b", "x."])
def test_a_name_that_is_no_plain_folder_is_refused(create: Create, name: str) -> None:
    with pytest.raises(LimiteError, match="--name: at most 100 letters, digits"):
        create(name=name)


def test_a_name_taken_in_the_last_moment_is_not_overwritten(
    create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename
    raced = []

    def race(self: Path, target: Path) -> Path:
        if not raced:
            raced.append(target)
            target.mkdir()
            (target / "recipe.toml").write_text("theirs")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", race)
    assert create().path.name == "small-1f3a-2"
    assert (raced[0] / "recipe.toml").read_text() == "theirs"


@pytest.mark.parametrize("call", ["write", "fsync", "mkdir"])
def test_a_full_disk_leaves_no_half_made_run(
    create: Create, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: str
) -> None:
    def full(*arguments: Any, **more: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(RunFailed, match=r"runs: no space left .* --out$"):
            create()
    root = tmp_path / "runs"
    assert not root.exists() or list(root.iterdir()) == []
    create()


def test_a_place_that_is_no_folder_is_named(create: Create, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(LimiteError, match=r"runs: File exists"):
        create()


def test_opening_something_else_says_what_is_there(create: Create, tmp_path: Path) -> None:
    run = create()
    with pytest.raises(LimiteError, match=r"no such run; did you mean '.*runs/small-1f3a'\?"):
        RunDirectory.open(tmp_path / "runs" / "smal-1f3a")
    with pytest.raises(LimiteError, match=r"not the folder of a run.*; it holds the runs small"):
        RunDirectory.open(tmp_path / "runs")
    with pytest.raises(LimiteError, match=r"it is a part of the run 'small-1f3a'"):
        RunDirectory.open(run.start_stage("rl1"))
    (run.path / "recipe.toml").write_text("stages = ")
    with pytest.raises(LimiteError, match=r"recipe\.toml: not TOML"):
        RunDirectory.open(run.path)
    (run.path / "recipe.toml").write_text("name = 'x'")
    with pytest.raises(LimiteError, match=r"recipe\.toml: has no stages"):
        RunDirectory.open(run.path)


def test_a_bare_name_finds_the_run_below_runs(
    create: Create, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LimiteError, match=r"no such run; did you mean 'runs/small-1f3a'\?"):
        RunDirectory.open("small-1f3a")


def test_stages_have_numbered_folders_and_a_receipt_when_they_are_finished(create: Create) -> None:
    run = create()
    assert run.stage("rl1") == run.path / "stages" / "02-rl1"
    assert not run.stage("rl1").exists()
    with pytest.raises(LimiteError, match="has no stage 'rl'; did you mean 'rl1'"):
        run.stage("rl")
    assert run.start_stage("rl1").is_dir()
    assert run.rollout_file("rl1", 12) == run.stage("rl1") / "rollouts" / "000012.jsonl.zst"
    assert run.rollout_file("rl1", 12).parent.is_dir()
    assert run.stage_receipt("rl1") is None
    run.finish_stage("rl1", {"steps": 3})
    assert run.stage_receipt("rl1") == {"steps": 3, "status": "finished", "files": {}}
    assert run.stage_receipt("warm-up") is None
    run.finish_stage("warm-up", {"steps": 0})
    assert run.stage_receipt("warm-up") == {"steps": 0, "status": "finished", "files": {}}


def test_a_finished_stage_vouches_for_its_files(create: Create) -> None:
    run = create()
    folder = run.start_stage("rl1")
    append_jsonl(folder / "metrics.jsonl", [{"step": 1}])
    write_jsonl(run.rollout_file("rl1", 1), [{"step": 1}])
    checkpoint = folder / "checkpoints" / "step-000001"
    checkpoint.mkdir(parents=True)
    for name in ("manifest.json", "state.json"):
        (checkpoint / name).write_text("{}")
    run.finish_stage("rl1", {"steps": 1})
    receipt = run.stage_receipt("rl1")
    assert receipt is not None
    assert list(receipt["files"]) == [
        "checkpoints/step-000001/manifest.json",
        "metrics.jsonl",
        "rollouts/000001.jsonl.zst",
    ]
    assert receipt["files"]["metrics.jsonl"] == hashlib.sha256(b'{"step":1}\n').hexdigest()
    assert run.stage_changes("rl1") == []
    append_jsonl(folder / "metrics.jsonl", [{"step": 2}])
    (checkpoint / "manifest.json").unlink()
    assert run.stage_changes("rl1") == ["checkpoints/step-000001/manifest.json", "metrics.jsonl"]
    assert run.stage_changes("warm-up") == []


def test_what_a_killed_creation_left_goes_with_the_next_one(create: Create) -> None:
    root = create().path.parent
    (root / ".creating-00aa11bb").mkdir()
    (root / ".creating-00aa11bb" / "recipe.toml").write_text("half")
    create()
    assert sorted(entry.name for entry in root.iterdir()) == ["small-1f3a", "small-1f3a-2"]


def test_the_log_has_a_time_before_each_line(create: Create) -> None:
    run = create()
    run.log("one\n\ntwo")
    run.log("three")
    lines = (run.path / "log.txt").read_text().splitlines()
    assert [line.partition("Z")[2] for line in lines] == [" one", "", " two", " three"]


def test_logs_end_with_the_step_that_a_run_goes_on_from(create: Create) -> None:
    run = create()
    folder = run.start_stage("rl1")
    for step in range(1, 6):
        append_jsonl(
            folder / "metrics.jsonl", [{"step": step, "time_s": 0.5, "a/b": 1}], sort_keys=False
        )
        append_jsonl(folder / "health.jsonl", [{"step": step, "gate": gate} for gate in "xy"])
        write_jsonl(run.rollout_file("rl1", step), [{"step": step}])
    kept = b"".join((folder / "metrics.jsonl").read_bytes().splitlines(keepends=True)[:3])
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step":6,"tim')
    assert run.truncate_after("rl1", 3) == 2 + 4
    assert (folder / "metrics.jsonl").read_bytes() == kept
    assert [record["step"] for record in read_jsonl(folder / "health.jsonl")] == [1, 1, 2, 2, 3, 3]
    names = sorted(entry.name for entry in (folder / "rollouts").iterdir())
    assert names == ["000001.jsonl.zst", "000002.jsonl.zst", "000003.jsonl.zst"]
    # Going on adds what an uninterrupted run would have written.
    append_jsonl(folder / "metrics.jsonl", [{"step": 4, "time_s": 0.5, "a/b": 1}], sort_keys=False)
    assert [record["step"] for record in read_jsonl(folder / "metrics.jsonl")] == [1, 2, 3, 4]


def test_logs_that_need_no_change_are_not_written_again(create: Create) -> None:
    run = create()
    assert run.truncate_after("rl1", 0) == 0
    metrics = run.start_stage("rl1") / "metrics.jsonl"
    append_jsonl(metrics, [{"step": 1}])
    before = metrics.stat().st_ino
    assert run.truncate_after("rl1", 1) == 0
    assert metrics.stat().st_ino == before
    assert run.truncate_after("rl1", 0) == 1
    assert metrics.read_bytes() == b""


@pytest.mark.parametrize("tail", [b'{"step":2', b"\0\0\0", b'{"step":\n{"step":2}\n', b"\xff\n"])
def test_whatever_a_dying_machine_left_at_the_end_of_a_log_goes(
    create: Create, tail: bytes
) -> None:
    run = create()
    metrics = run.start_stage("rl1") / "metrics.jsonl"
    append_jsonl(metrics, [{"step": 1}])
    with metrics.open("ab") as file:
        file.write(tail)
    run.truncate_after("rl1", 1)
    assert metrics.read_bytes() == b'{"step":1}\n'


def test_a_run_has_one_writer_and_the_other_hears_who(create: Create) -> None:
    run = create()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from limite.core.recipe.runlock import hold\n"
            "with hold(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()",
            str(run.path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(LimiteError, match=f"process {holder.pid} is writing this run"),
            run.lock(),
        ):
            raise AssertionError("two writers")
        holder.kill()
    # The lock of a killed process is nobody's.
    assert (run.path / ".lock").exists()
    with run.lock():
        assert (run.path / ".lock").read_text() == f"{os.getpid()}\n"
    assert not (run.path / ".lock").exists()


def test_a_process_does_not_lock_a_run_twice(create: Create, tmp_path: Path) -> None:
    run = create()
    (tmp_path / "link").symlink_to(run.path)
    for path in (run.path, tmp_path / "link"):
        with (
            run.lock(),
            pytest.raises(LimiteError, match=r"this process \(pid \d+\) is already writing"),
            RunDirectory.open(path).lock(),
        ):
            raise AssertionError("two writers")
    with run.lock():
        pass


def test_the_lock_goes_when_a_run_fails(create: Create) -> None:
    run = create()
    with pytest.raises(KeyError), run.lock():
        raise KeyError
    with run.lock():
        pass


def test_what_killed_writes_left_goes_when_the_run_is_locked(create: Create) -> None:
    run = create()
    leftover = run.start_stage("rl1") / ".receipt.json.tmp-0011aabb"
    leftover.write_text("half")
    with run.lock():
        assert not leftover.exists()
        assert (run.path / "recipe.toml").exists()


def test_a_failed_stage_says_why_and_is_not_finished(create: Create) -> None:
    run = create()
    run.fail_stage("rl1", {"stage": "rl1", "error": "no signal"})
    assert run.stage_receipt("rl1") is None
    place = run.stage("rl1") / "receipt.json"
    assert read_receipt(place) == {"stage": "rl1", "error": "no signal", "status": "failed"}
    run.finish_stage("rl1", {"steps": 3})
    assert run.stage_receipt("rl1") is not None


@pytest.mark.parametrize("lacking", [["recipe.toml"], ["receipt.json"]])
def test_what_the_folder_of_a_run_lacks_is_named(create: Create, lacking: list[str]) -> None:
    run = create()
    for name in lacking:
        (run.path / name).unlink()
    with pytest.raises(LimiteError) as told:
        RunDirectory.open(run.path)
    assert str(told.value).startswith(f"{run.path}: not the folder of a run: it lacks {lacking[0]}")
    assert ("recipe.toml" in str(told.value)) == ("recipe.toml" in lacking)
