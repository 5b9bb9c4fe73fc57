"""Safetensors files that are damaged, or made to do harm."""

from __future__ import annotations

import json
import os
import pickle
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import safetensors
import safetensors.torch
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.pretrained.tensor_file import TensorFile, write_tensor_file

F4 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


def test_tensors_in_another_order_than_their_bytes_are_read_right(forge) -> None:
    header = {
        "last": {"dtype": "I16", "shape": [2], "data_offsets": [5, 9]},
        "empty": {"dtype": "F64", "shape": [0, 3], "data_offsets": [5, 5]},
        "first": {"dtype": "U8", "shape": [1, 1], "data_offsets": [0, 1]},
        "odd": {"dtype": "F32", "shape": [], "data_offsets": [1, 5]},
    }
    file = TensorFile.open(forge(header, b"\x07" + b"\x00\x00\x80\x3f" + b"\x01\x00\xff\xff"))
    assert list(file.entries) == list(header)
    assert file.read("first").tolist() == [[7]]
    assert file.read("odd").item() == 1.0
    assert file.read("empty").shape == (0, 3)
    assert file.read("last").tolist() == [1, -1]


BAD_FIELDS: list[tuple[dict[str, Any] | list[int], str]] = [
    ([1], r"expected the fields dtype, shape, data_offsets, got \[1\]"),
    ({"dtype": "F32", "shape": [1]}, r"expected the fields .*got fields \['dtype', 'shape'\]"),
    (F4 | {"stride": [1]}, "expected the fields"),
    (F4 | {"dtype": "F4"}, "expected a dtype of BOOL, .*got 'F4'"),
    (F4 | {"dtype": "f32"}, "got 'f32'; did you mean 'F32'"),
    (F4 | {"dtype": 32}, "expected a dtype of .*got 32"),
    (F4 | {"dtype": ["F32"]}, r"expected a dtype of .*got \['F32'\]"),
    (F4 | {"dtype": "C64"}, "got 'C64'"),
    (F4 | {"shape": 1}, "expected a shape of whole numbers from 0, got 1"),
    (F4 | {"shape": [-1]}, r"expected a shape of whole numbers from 0, got \[-1\]"),
    (F4 | {"shape": [True]}, r"got \[True\]"),
    (F4 | {"shape": [1.0]}, r"got \[1\.0\]"),
    (F4 | {"shape": ["1"]}, r"got \['1'\]"),
    (F4 | {"shape": [None]}, r"got \[None\]"),
    (F4 | {"shape": [2**64]}, "expected a shape of whole numbers"),
    (F4 | {"shape": [2**32, 2**32]}, "larger than a tensor can be"),
    (F4 | {"shape": [2**62, 2]}, "larger than a tensor can be"),
    (F4 | {"shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}, "larger than a tensor can be"),
    (F4 | {"shape": [1] * 65}, "larger than a tensor can be"),
    (F4 | {"shape": [2]}, r"expected 8 bytes for F32 of shape \[2\], got 4"),
    (F4 | {"shape": [0]}, r"expected 0 bytes for F32 of shape \[0\], got 4"),
    (F4 | {"data_offsets": [0]}, r"expected data_offsets \[begin, end\], got \[0\]"),
    (F4 | {"data_offsets": [0, 4, 8]}, "expected data_offsets"),
    (F4 | {"data_offsets": {"begin": 0, "end": 4}}, "expected data_offsets"),
    (F4 | {"data_offsets": [4, 0]}, "expected 4 bytes for F32 .*got -4"),
    (F4 | {"data_offsets": [-4, 0]}, "expected data_offsets"),
    (F4 | {"data_offsets": [False, 4]}, "expected data_offsets"),
    (F4 | {"data_offsets": [0, 4.0]}, "expected data_offsets"),
    (F4 | {"data_offsets": [0, 2**80]}, "expected data_offsets"),
    (F4 | {"data_offsets": [4, 8]}, "cut short: expected bytes 4 to 8, got 4 bytes"),
]


@pytest.mark.parametrize(("fields", "why"), BAD_FIELDS)
def test_fields_that_make_no_tensor_are_refused(forge, fields: Any, why: str) -> None:
    with pytest.raises(LimiteError, match=rf"x\.safetensors: a: .*{why}"):
        TensorFile.open(forge({"a": fields}, bytes(4)))


@pytest.mark.parametrize(
    ("spans", "size", "why"),
    [
        ([(0, 4), (2, 6)], 6, "b: its bytes 2 to 6 overlap those of a, which end at 4"),
        ([(0, 4), (0, 4)], 4, "b: its bytes 0 to 4 overlap"),
        ([(0, 4), (8, 12)], 12, "b: expected it to begin at byte 4, got bytes 8 to 12: a hole"),
        ([(1, 5), (5, 9)], 9, "a: expected it to begin at byte 0"),
        ([(0, 4), (4, 8)], 7, "b: the file is cut short: expected bytes 4 to 8, got 7 bytes"),
        ([(0, 4), (4, 8)], 9, r"1 bytes after the last tensor belong to none"),
    ],
)
def test_bytes_that_overlap_or_belong_to_none_are_refused(
    forge, spans: list[tuple[int, int]], size: int, why: str
) -> None:
    header = {name: F4 | {"data_offsets": span} for name, span in zip("ab", spans, strict=True)}
    with pytest.raises(LimiteError, match=rf"x\.safetensors: {why}"):
        TensorFile.open(forge(header, bytes(size)))


DEEP = b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (b"", "expected an object, got b''"),
        (b"[]", r"expected an object, got b'\[\]'"),
        (b"null", "expected an object"),
        (b' {"a": 1}', "expected an object"),
        (b'{"a": \xff}', "the header is not JSON: .*can't decode"),
        (b"\xef\xbb\xbf{}", "the header is not JSON"),
        (b'{"a": 1', "the header is not JSON"),
        (b"{} {}", "the header is not JSON: Extra data"),
        (b'{"a": NaN}', "bare NaN is not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "the header is not JSON"),
        (DEEP, "nested too deeply"),
        (b'{"a": 1, "a": 2}', "the key 'a' is there twice"),
        (b'{"a": {"dtype": "F32", "dtype": "F32"}}', "the key 'dtype' is there twice"),
        (b'{"__metadata__": {}, "__metadata__": {}}', "the key '__metadata__' is there twice"),
        (b'{"__metadata__": {"step": 3}}', r"__metadata__: expected an object of texts, got"),
        (b'{"__metadata__": []}', r"__metadata__: expected an object of texts, got \[\]"),
        (b'{"__metadata__": null}', r"__metadata__: expected an object of texts, got None"),
    ],
)
def test_a_header_that_is_no_such_object_is_refused(forge, header: bytes, why: str) -> None:
    with pytest.raises(LimiteError, match=rf"x\.safetensors: .*{why}"):
        TensorFile.open(forge(header))


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a\\b", "", "..", "a\nb", "\x1b[31m"])
def test_a_name_that_is_no_tensors_name_is_refused(forge, name: str) -> None:
    with pytest.raises(LimiteError, match="expected a tensor's name") as caught:
        TensorFile.open(forge({name: F4}, bytes(4)))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("length", "why"),
    [
        (3, r"the header is cut short: expected 3 bytes, got 2"),
        (100_000_000, r"the header is cut short: expected 100000000 bytes, got 2"),
        (100_000_001, r"at most 100000000 bytes, got 100000001"),
        (2**63, r"at most 100000000 bytes"),
        (2**64 - 1, r"at most 100000000 bytes"),
    ],
)
def test_a_header_longer_than_its_file_is_refused(forge, length: int, why: str) -> None:
    with pytest.raises(LimiteError, match=rf"x\.safetensors: .*{why}"):
        TensorFile.open(forge(b"{}", length=length))


@pytest.mark.parametrize("size", range(8))
def test_a_file_too_short_for_a_header_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(bytes(size))
    with pytest.raises(LimiteError, match=f"got {size} bytes, too few for a header"):
        TensorFile.open(path)


class Trap:
    """Makes the file named when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("kind", ["pickle", "zip", "legacy"])
def test_a_pickle_is_refused_and_never_run(tmp_path: Path, kind: str) -> None:
    trap, path = tmp_path / "sprung", tmp_path / "x.safetensors"
    weights = {"a": torch.ones(200), "trap": Trap(trap)}
    if kind == "pickle":
        path.write_bytes(pickle.dumps(weights))
    else:
        torch.save(weights, path, _use_new_zipfile_serialization=kind == "zip")
    with pytest.raises(LimiteError, match=r"x\.safetensors: .*looks like a pickle: loading one"):
        TensorFile.open(path)
    assert not trap.exists()


def test_other_files_are_told_by_their_looks(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    for content, why in (
        (b"GGUF" + bytes(20), "at most|looks like a GGUF"),
        (b"GGUF\x03\x00\x00\x00" + bytes(20), "looks like a GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "not downloaded"),
        (b"<!DOCTYPE html>", "at most 100000000"),
    ):
        path.write_bytes(content)
        with pytest.raises(LimiteError, match=why):
            TensorFile.open(path)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(LimiteError, match="got a pipe, a device or a folder"):
            TensorFile.open(place)
    with pytest.raises(LimiteError, match="expected a file, and this is a folder"):
        TensorFile.open(tmp_path)
    write_tensor_file(tmp_path / "model.safetensors", {})
    with pytest.raises(LimiteError, match=r"no such file; did you mean 'model\.safetensors'\?"):
        TensorFile.open(tmp_path / "modle.safetensors")


def test_a_file_cut_short_after_it_was_opened(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "x.safetensors"
    write_tensor_file(path, {"a": torch.ones(100)})
    file = TensorFile.open(path)
    os.truncate(path, 100)
    monkeypatch.setattr("limite.core.pretrained.tensor_file._stamp", lambda _: file.stamp)
    with pytest.raises(LimiteError, match=r"x\.safetensors: a: the file is cut short"):
        file.read("a")


def valid() -> tuple[bytes, dict[str, torch.Tensor]]:
    tensors = {
        "a": torch.arange(6.0).reshape(2, 3),
        "b.weight": torch.ones(3, dtype=torch.bfloat16),
        "mask": torch.tensor([True, False]),
        "scale": torch.tensor(5),
        "none": torch.empty(0, 4),
    }
    return safetensors.torch.save(tensors, {"format": "pt"}), tensors


CONTENT, TENSORS = valid()
EDITS = st.one_of(
    st.tuples(st.just("flip"), st.integers(0, len(CONTENT) - 1), st.integers(1, 255)),
    st.tuples(st.just("cut"), st.integers(0, len(CONTENT) - 1), st.just(0)),
    st.tuples(st.just("add"), st.integers(0, len(CONTENT)), st.integers(0, 255)),
    st.tuples(st.just("drop"), st.integers(0, len(CONTENT) - 1), st.just(0)),
    st.tuples(st.just("swap"), st.integers(8, len(CONTENT) - 40), st.integers(8, 60)),
)


def edited(content: bytes, edits: list[tuple[str, int, int]]) -> bytes:
    for kind, at, value in edits:
        at %= max(len(content), 1)
        if kind == "flip" and content:
            content = content[:at] + bytes([content[at] ^ value]) + content[at + 1 :]
        elif kind == "cut":
            content = content[:at]
        elif kind == "add":
            content = content[:at] + bytes([value]) + content[at:]
        elif kind == "drop":
            content = content[:at] + content[at + 1 :]
        elif kind == "swap":
            content = content[:at] + content[at + value :] + content[at : at + value]
    return content


@example([("flip", 100, 1)])
@given(st.lists(EDITS, max_size=3))
def test_a_damaged_file_is_refused_or_read_as_the_library_reads_it(
    edits: list[tuple[str, int, int]],
) -> None:
    content = edited(CONTENT, edits)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.safetensors"
        path.write_bytes(content)
        path.chmod(0o400)
        try:
            file = TensorFile.open(path)
            found = {name: file.read(name) for name in file.entries}
        except LimiteError as error:
            assert re.search("x.safetensors", str(error))  # noqa: PT017
            assert content != CONTENT
        else:
            # What the library reads from them is the judge of damaged values.
            expected = safetensors.torch.load(content)
            assert found.keys() == expected.keys()
            for name, tensor in found.items():
                assert tensor.dtype == expected[name].dtype
                assert tensor.shape == expected[name].shape
                assert tensor.reshape(-1).view(torch.uint8).tolist() == (
                    expected[name].reshape(-1).view(torch.uint8).tolist()
                )
        assert path.read_bytes() == content
        assert os.listdir(folder) == ["x.safetensors"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.floats() | st.text(max_size=3)
    | st.sampled_from(["F32", "BF16", "dtype"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets", "a"]), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["a", "b", "__metadata__", "../x"]), VALUES), st.binary())
def test_any_json_at_all_is_refused_in_words(header: dict[str, Any], data: bytes) -> None:
    text = json.dumps(header).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.safetensors"
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)
        try:
            file = TensorFile.open(path)
        except LimiteError as error:
            assert "x.safetensors" in str(error)  # noqa: PT017
        else:
            assert file.total_bytes == len(data)
