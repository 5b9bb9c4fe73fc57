"""Directories of weights: one file or shards, and what is wrong with them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.errors import LimiteError, RunFailed, SettingsError
from limite.core.pretrained.load import mismatches
from limite.core.pretrained.tensor_directory import INDEX, TensorDirectory, write_tensor_directory

VALUES = {
    "embed": torch.arange(12.0).reshape(4, 3),
    "layer.0.weight": torch.ones(5, dtype=torch.bfloat16),
    "layer.1.weight": torch.full((2, 2), 3.0),
    "scale": torch.tensor(0.5),
}
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory of two shards."""
    path = tmp_path / "model"
    write_tensor_directory(path, VALUES, shard_bytes=60)
    return path


def reindex(folder: Path, **changes: str | None) -> None:
    """Gives tensors other files in the index; None takes them out."""
    index = json.loads((folder / INDEX).read_text())
    weight_map = index["weight_map"] | {n.replace("__", "."): f for n, f in changes.items()}
    index["weight_map"] = {name: file for name, file in weight_map.items() if file is not None}
    (folder / INDEX).write_text(json.dumps(index))


def check(folder: Path, expected: dict[str, Tensor] = VALUES) -> None:
    found = TensorDirectory.open(folder)
    assert found.names == tuple(sorted(expected))
    assert found.total_bytes == sum(tensor.nbytes for tensor in expected.values())
    for name, tensor in expected.items():
        assert found.entry(name).shape == tuple(tensor.shape)
        assert found.entry(name).dtype == tensor.dtype
        assert torch.equal(found.read(name), tensor)
        destination = torch.empty_like(tensor)
        found.read_into(name, destination)
        assert torch.equal(destination, tensor)


def test_shards_and_their_index_are_what_other_readers_expect(folder: Path) -> None:
    assert sorted(os.listdir(folder)) == [FIRST, SECOND, INDEX]
    index = {
        "metadata": {"total_size": 78},
        "weight_map": {
            "embed": FIRST,
            "layer.0.weight": FIRST,
            "layer.1.weight": SECOND,
            "scale": SECOND,
        },
    }
    assert (folder / INDEX).read_text() == json.dumps(index, indent=2) + "\n"
    for file in (FIRST, SECOND):
        with safetensors.safe_open(folder / file, "pt") as opened:
            assert opened.metadata() == {"format": "pt"}
            for name in opened.keys():  # noqa: SIM118
                assert torch.equal(opened.get_tensor(name), VALUES[name])
                assert index["weight_map"][name] == file
    check(folder)


def test_one_file_needs_no_index(tmp_path: Path) -> None:
    write_tensor_directory(tmp_path / "model", VALUES.items())
    assert os.listdir(tmp_path / "model") == ["model.safetensors"]
    check(tmp_path / "model")


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 40))
def test_every_tensor_is_in_one_shard_and_none_is_too_large(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], shard_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("model")
    values = {f"t{n}": torch.arange(float(size)) for n, size in enumerate(sizes)}
    write_tensor_directory(folder, values, shard_bytes=shard_bytes)
    check(folder, values)
    files = TensorDirectory.open(folder).files
    assert {path.name for path in folder.glob("*.safetensors")} == set(files)
    for file in files.values():
        largest = max((entry.size_bytes for entry in file.entries.values()), default=0)
        assert file.total_bytes <= max(shard_bytes, largest)
        assert file.entries or not values


def test_a_copy_holds_one_tensor_at_a_time_and_equals_its_source(
    folder: Path, tmp_path: Path
) -> None:
    source = TensorDirectory.open(folder)
    copy, wide = tmp_path / "copy", tmp_path / "wide"
    write_tensor_directory(copy, ((n, source.deferred(n)) for n in VALUES), shard_bytes=60)
    assert {p.name: p.read_bytes() for p in copy.iterdir()} == {
        p.name: p.read_bytes() for p in folder.iterdir()
    }
    write_tensor_directory(wide, ((n, source.deferred(n, torch.float64)) for n in VALUES))
    check(wide, {name: tensor.double() for name, tensor in VALUES.items()})


def test_equal_tensors_are_told_from_others_bit_by_bit(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("limite.core.pretrained.tensor_directory._COMPARED_BYTES", 16)
    table = torch.arange(15.0).reshape(5, 3)
    table[4, 2] = torch.nan
    other = table.clone()
    other[4, 1] += 1
    values = {
        "table": table,
        "same": table.clone(),
        "other": other,
        "flat": table.reshape(3, 5),
        "wide": table.double(),
        "numbers": table.view(torch.int32),
    }
    write_tensor_directory(tmp_path, values, shard_bytes=100)
    found = TensorDirectory.open(tmp_path)
    assert [name for name in found.names if found.equal("table", name)] == ["same", "table"]


def refused(folder: Path, why: str) -> str:
    with pytest.raises(LimiteError, match=why) as caught:
        TensorDirectory.open(folder)
    return str(caught.value)


def test_a_shard_that_is_missing_is_named(folder: Path) -> None:
    (folder / SECOND).rename(folder / "model-00002-of-00003.safetensors")
    there = "did you mean 'model-00002-of-00003.safetensors'"
    refused(
        folder, f"{SECOND}: no such file, though model.safetensors.index.json names it; {there}"
    )
    (folder / "model-00002-of-00003.safetensors").unlink()
    # Another shard that the index names is not what was meant.
    assert "did you mean" not in refused(folder, f"{SECOND}: no such file")


def test_weights_that_an_index_passes_over_are_named(folder: Path) -> None:
    assert TensorDirectory.open(folder).passed_over == ()
    weights = json.loads((folder / INDEX).read_text())["weight_map"]
    kept = {name: file for name, file in weights.items() if file == FIRST}
    (folder / INDEX).write_text(json.dumps({"weight_map": kept}))
    found = TensorDirectory.open(folder)
    assert found.passed_over == (SECOND,)
    decoder = torch.nn.ParameterDict({name.replace(".", "_"): t for name, t in VALUES.items()})
    names = {name.replace(".", "_"): name for name in VALUES}
    told = [str(each) for each in mismatches(decoder, found, names)]
    assert told[0] == f"{folder / INDEX}: names no tensor of {SECOND}, which lies beside it"
    assert any(each.endswith("missing") for each in told[1:])


def test_a_shard_without_a_tensor_of_the_index_is_refused(folder: Path) -> None:
    reindex(folder, layer__2__weight=SECOND)
    refused(folder, f"layer.2.weight: expected it in {SECOND}, which does not hold it; did you m")
    reindex(folder, layer__2__weight=None, scale=FIRST)
    refused(folder, f"scale: expected it in {FIRST}, which does not hold it; it is in {SECOND}")


def test_a_tensor_that_the_index_does_not_list_is_refused(folder: Path) -> None:
    reindex(folder, scale=None)
    refused(folder, f"{SECOND}: scale: this tensor is not in the index")


def test_a_tensor_in_two_shards_is_refused(folder: Path) -> None:
    twice = {"scale": VALUES["scale"], "layer.1.weight": VALUES["layer.1.weight"]}
    safetensors.torch.save_file(twice | {"embed": VALUES["embed"]}, folder / SECOND)
    refused(folder, f"{SECOND}: embed: this tensor is also in {FIRST}, where the index has it")


def test_all_mistakes_come_at_once(folder: Path) -> None:
    reindex(folder, scale=None, embed=SECOND)
    (folder / FIRST).write_bytes(b"short")
    with pytest.raises(SettingsError) as caught:
        TensorDirectory.open(folder)
    said = str(caught.value)
    assert len(caught.value.mistakes) == 3
    assert f"{FIRST}: expected a safetensors file, got 5 bytes" in said
    assert "embed: expected it in" in said
    assert "scale: this tensor is not in the index" in said


@pytest.mark.parametrize(
    "file",
    ["../x.safetensors", "/etc/x.safetensors", "sub/x.safetensors", "..\\x.safetensors",
     "..", "", "pytorch_model.bin", "a\nb.safetensors", 3, None, ["x.safetensors"]],
)  # fmt: skip
def test_an_index_that_points_elsewhere_is_refused(folder: Path, file: object) -> None:
    safetensors.torch.save_file(VALUES, folder.parent / "x.safetensors")
    index = json.loads((folder / INDEX).read_text())
    index["weight_map"]["embed"] = file
    (folder / INDEX).write_text(json.dumps(index))
    refused(folder, r"weight_map\.embed: expected the name of a \.safetensors file in this dir")


@pytest.mark.parametrize("content", [
    (b"", "not JSON"), (b"{", "not JSON"), (b"\xff", "not JSON"), (b"NaN", "bare NaN"),
    (b"[]", "expected a JSON object, got list"), (b"{}", "expected a weight_map"),
    (b'{"weight_map": []}', "expected a weight_map"), (b'{"weight_map": {}}', "got none"),
    (b'{"weight_map": {"a": "b", "a": "c"}}', "the key 'a' is there twice"),
])  # fmt: skip
def test_an_index_that_is_none_is_refused(folder: Path, content: tuple[bytes, str]) -> None:
    (folder / INDEX).write_bytes(content[0])
    refused(folder, rf"index\.json: .*{content[1]}")


@pytest.mark.parametrize("name", [FIRST, INDEX, "model.safetensors"])
def test_a_link_that_leads_out_of_the_directory_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    write_tensor_directory(folder, VALUES, shard_bytes=60 if name != "model.safetensors" else 1000)
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(f"../{name}")
    refused(folder, f"{name}: a link that leads out of its directory, to {tmp_path}")


def test_links_inside_and_those_of_a_hub_cache_are_followed(tmp_path: Path, folder: Path) -> None:
    (folder / FIRST).rename(folder / "kept")
    (folder / FIRST).symlink_to("kept")
    check(folder)
    (tmp_path / "link").symlink_to(folder)
    check(tmp_path / "link")
    revision = tmp_path / "cache/snapshots/0123"
    write_tensor_directory(revision, VALUES, shard_bytes=60)
    (tmp_path / "cache/blobs").mkdir()
    for file in sorted(revision.iterdir()):
        file.rename(tmp_path / "cache/blobs" / file.name[::-1])
        file.symlink_to(f"../../blobs/{file.name[::-1]}")
    check(revision)


def test_a_link_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").symlink_to("model.safetensors")
    refused(tmp_path, r"model\.safetensors: ")


def test_two_sets_of_weights_are_refused_and_an_index_of_one_file_is_not(
    folder: Path, tmp_path: Path
) -> None:
    safetensors.torch.save_file(VALUES, folder / "model.safetensors")
    refused(folder, f"has both model.safetensors and {INDEX} with other files")
    reindex(folder, **{n.replace(".", "__"): "model.safetensors" for n in VALUES})
    check(folder)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([], "no model.safetensors and no model.safetensors.index.json$"),
        (["pytorch_model.bin", "config.json"], "it holds pytorch_model.bin, a pickle: loading"),
        (["consolidated.00.pth"], "a pickle"),
        (["model-q4.gguf", "x.bin"], "it holds model-q4.gguf, a GGUF file"),
        ([FIRST], f"it holds {FIRST}: expected that name, or an index"),
    ],
)
def test_a_directory_without_weights_says_what_it_has(
    tmp_path: Path, files: list[str], why: str
) -> None:
    for file in files:
        (tmp_path / file).write_bytes(b"\x80\x04N.")
    refused(tmp_path, why)


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "expected a directory .*: No such file")
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "expected a directory .*: Not a directory")


def test_a_name_that_is_not_there_gets_a_suggestion(folder: Path) -> None:
    with pytest.raises(LimiteError, match=r"no tensor 'embde'; did you mean 'embed'\?"):
        TensorDirectory.open(folder).read("embde")


@pytest.mark.parametrize("name", [INDEX, "model.safetensors", "pytorch_model.bin"])
def test_weights_that_are_there_are_never_joined(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"mine")
    (tmp_path / "config.json").write_bytes(b"{}")
    with pytest.raises(LimiteError, match=f"has weights already .{name}."):
        write_tensor_directory(tmp_path, VALUES)
    assert (tmp_path / name).read_bytes() == b"mine"
    (tmp_path / name).unlink()
    write_tensor_directory(tmp_path, VALUES)
    check(tmp_path)
    with pytest.raises(LimiteError, match="shard_bytes: expected at least 1, got 0"):
        write_tensor_directory(tmp_path / "other", VALUES, shard_bytes=0)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_a_directory_as_it_was(tmp_path: Path, fail_at, there: bool) -> None:
    path = tmp_path / "model"
    if there:
        path.mkdir()
        (path / "config.json").write_bytes(b"{}")
    done = False
    for number in range(40):
        failed = False
        with fail_at(number) as calls:
            try:
                write_tensor_directory(path, VALUES, shard_bytes=60)
            except RunFailed as error:
                failed = True
                assert "no space left" in str(error)  # noqa: PT017
        done = len(calls) <= number
        if done:
            break
        if not failed:  # a full disk has no say where the directory is there already
            assert calls[number] == "mkdir"
            for file in (FIRST, SECOND, INDEX):
                (path / file).unlink()
        left = sorted(os.listdir(path)) if path.exists() else None
        assert left == (["config.json"] if there else None)
    assert done
    assert number > 12
    check(path)
