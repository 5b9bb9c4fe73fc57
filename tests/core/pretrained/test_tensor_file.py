"""Safetensors files, read and written: the safetensors library is the other side."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
import safetensors
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.checkpoint.tensor_header import DTYPES
from limite.core.checkpoint.tensors import DeferredTensor
from limite.core.errors import LimiteError, RunFailed, SettingsError
from limite.core.pretrained import tensor_read
from limite.core.pretrained.tensor_file import TensorFile, write_tensor_file

TEXT = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1)
NAMES = TEXT.filter(lambda name: name not in ("__metadata__", "..") and not {"/", "\\"} & set(name))


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Any bits at all, NaNs of every kind among them, in any dtype, shape and stride."""
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    count = int(torch.Size(shape).numel())
    bits = draw(st.binary(min_size=count * dtype.itemsize, max_size=count * dtype.itemsize))
    if dtype is torch.bool:
        bits = bytes(byte & 1 for byte in bits)
    if not count:
        return torch.empty(shape, dtype=dtype)
    tensor = torch.frombuffer(bytearray(bits), dtype=dtype).reshape(shape)
    return tensor.transpose(0, -1) if len(shape) > 1 and draw(st.booleans()) else tensor


STORED = st.dictionaries(NAMES, tensors(), max_size=5)
METADATA = st.dictionaries(TEXT, st.text(st.characters(codec="utf-8")), max_size=3)


def bits(tensor: Tensor) -> tuple[torch.dtype, torch.Size, bytes]:
    content = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return tensor.dtype, tensor.shape, content


def all_bits(values: dict[str, Tensor]) -> dict[str, object]:
    return {name: bits(tensor) for name, tensor in values.items()}


def read_all(path: Path) -> dict[str, Tensor]:
    file = TensorFile.open(path)
    return {name: file.read(name) for name in file.entries}


@given(STORED, METADATA)
def test_the_safetensors_library_reads_what_is_written(
    values: dict[str, Tensor], metadata: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.safetensors"
        write_tensor_file(path, values, metadata)
        with safetensors.safe_open(path, "pt") as library:
            assert (library.metadata() or {}) == metadata
            read = {name: library.get_tensor(name) for name in library.keys()}  # noqa: SIM118
        assert all_bits(read) == all_bits(values) == all_bits(read_all(path))
        file = TensorFile.open(path)
        assert file.metadata == metadata
        for entry in file.entries.values():
            assert (file.start + entry.begin) % entry.dtype.itemsize == file.start % 8 == 0
        again = Path(folder) / "again.safetensors"
        write_tensor_file(again, reversed(values.items()), dict(reversed(metadata.items())))
        assert again.read_bytes() == path.read_bytes()


@given(STORED, METADATA)
def test_what_the_safetensors_library_writes_is_read(
    values: dict[str, Tensor], metadata: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.safetensors"
        whole = {name: tensor.contiguous() for name, tensor in values.items()}
        safetensors.torch.save_file(whole, path, metadata or None)
        file = TensorFile.open(path)
        assert file.metadata == metadata
        assert file.total_bytes == sum(tensor.nbytes for tensor in values.values())
        assert {n: (e.dtype, e.shape) for n, e in file.entries.items()} == {
            n: (t.dtype, tuple(t.shape)) for n, t in values.items()
        }
        assert all_bits(read_all(path)) == all_bits(values)


@pytest.fixture
def numbers(tmp_path: Path) -> TensorFile:
    """A file of one tensor in several dtypes."""
    values = torch.arange(60.0).reshape(4, 3, 5) - 17.25
    path = tmp_path / "numbers.safetensors"
    kinds = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "i32": torch.int32}
    write_tensor_file(path, {name: values.to(dtype) for name, dtype in kinds.items()})
    return TensorFile.open(path)


def test_a_contiguous_destination_gets_the_bytes_in_its_own_memory(
    numbers: TensorFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensor_read, "_parts", None)  # nothing goes through a buffer
    destination = torch.nn.Parameter(torch.full((4, 3, 5), torch.nan))
    place = destination.data_ptr()
    numbers.read_into("f32", destination)
    assert destination.data_ptr() == place
    assert torch.equal(destination, torch.arange(60.0).reshape(4, 3, 5) - 17.25)


def test_a_backward_pass_over_overwritten_values_fails(numbers: TensorFile) -> None:
    weight = torch.ones(4, 3, 5, requires_grad=True)
    loss = (weight * weight).sum()
    numbers.read_into("f32", weight)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("stored", ["f64", "f32", "bf16"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("layout", ["plain", "turned", "spread", "rows"])
def test_values_are_rounded_through_a_small_buffer(
    numbers: TensorFile,
    monkeypatch: pytest.MonkeyPatch,
    stored: str,
    dtype: torch.dtype,
    layout: str,
) -> None:
    expected = numbers.read(stored).to(dtype)
    for size in (8, 24, 104, 1000):
        monkeypatch.setattr(tensor_read, "BUFFER_BYTES", size)
        destination = {
            "plain": torch.zeros(4, 3, 5, dtype=dtype),
            "turned": torch.zeros(5, 3, 4, dtype=dtype).transpose(0, 2),
            "spread": torch.zeros(4, 3, 10, dtype=dtype)[..., ::2],
            "rows": torch.zeros(4, 6, 5, dtype=dtype)[:, :3],
        }[layout]
        numbers.read_into(stored, destination)
        assert torch.equal(destination, expected)


def test_rows_of_the_first_dimension(numbers: TensorFile) -> None:
    whole = numbers.read("bf16")
    for rows in (range(4), range(1, 3), range(2, 2), range(3, 4)):
        assert torch.equal(numbers.read("bf16", rows=rows), whole[rows.start : rows.stop])
        destination = torch.zeros(len(rows), 3, 5)
        numbers.read_into("bf16", destination, rows=rows)
        assert torch.equal(destination, whole[rows.start : rows.stop].float())
    for wrong in (range(3, 5), range(-1, 2), range(0, 4, 2), range(3, 1)):
        with pytest.raises(LimiteError, match=r"bf16: expected rows of the shape \[4, 3, 5\]"):
            numbers.read("bf16", rows=wrong)


def test_pieces_are_the_flat_values(numbers: TensorFile) -> None:
    found = [piece.clone() for piece in numbers.pieces("i32", values=7)]
    assert [len(piece) for piece in found] == [7] * 8 + [4]
    assert torch.equal(torch.cat(found), numbers.read("i32").reshape(-1))


def test_nothing_is_read_for_the_meta_device(numbers: TensorFile) -> None:
    numbers.path.unlink()
    numbers.read_into("f32", torch.empty(4, 3, 5, device="meta"))
    with pytest.raises(LimiteError, match="expected shape"):
        numbers.read_into("f32", torch.empty(3, 5, device="meta"))


def test_a_destination_that_does_not_fit_is_refused_untouched(numbers: TensorFile) -> None:
    destination = torch.zeros(3, 4, 5)
    with pytest.raises(
        LimiteError,
        match=r"numbers\.safetensors: f32: expected shape \[3, 4, 5\], got \[4, 3, 5\]",
    ):
        numbers.read_into("f32", destination)
    for stored, dtype in (("f32", torch.int32), ("i32", torch.float32), ("i32", torch.int64)):
        with pytest.raises(LimiteError, match=f"{stored}: expected {dtype}, got torch"):
            numbers.read_into(stored, torch.zeros(4, 3, 5, dtype=dtype))
    assert not destination.any()


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
)
def test_a_value_too_large_for_its_new_dtype_is_refused(tmp_path: Path, dtype: torch.dtype) -> None:
    reach = torch.finfo(dtype).max
    kept = torch.tensor([reach, -reach, torch.nan], dtype=torch.float64)
    values = {"kept": kept, "large": kept.nan_to_num() * 1.01, "none": kept[:0]}
    write_tensor_file(tmp_path / "x.safetensors", values)
    file = TensorFile.open(tmp_path / "x.safetensors")
    destination = torch.empty(3, dtype=dtype)
    file.read_into("kept", destination)
    assert torch.equal(destination.double()[:2], kept[:2])
    assert destination.float()[2].isnan()
    file.read_into("none", destination[:0])
    with pytest.raises(LimiteError, match=f"large: expected values that {dtype} can hold"):
        file.read_into("large", destination)


def test_a_byte_that_is_no_bool_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_tensor_file(path, {"mask": torch.tensor([True, False])})
    content = bytearray(path.read_bytes())
    content[-1] = 2
    path.write_bytes(content)
    with pytest.raises(LimiteError, match="mask: expected bools of 0 and 1"):
        TensorFile.open(path).read("mask")


def test_a_name_that_is_not_there_gets_a_suggestion(numbers: TensorFile) -> None:
    with pytest.raises(LimiteError, match=r"no tensor 'bf61'; did you mean 'bf16'\?"):
        numbers.read("bf61")


@pytest.mark.parametrize("change", ["longer", "rewritten", "replaced", "gone"])
def test_a_file_that_changes_under_its_reader_is_refused(numbers: TensorFile, change: str) -> None:
    content = numbers.path.read_bytes()
    if change == "longer":
        numbers.path.write_bytes(content + b"x")
    elif change == "rewritten":
        os.utime(numbers.path, ns=(1, 1))
    else:
        numbers.path.unlink()
    if change == "replaced":
        numbers.path.with_name("new").write_bytes(content)
        numbers.path.with_name("new").rename(numbers.path)
    expected = "no such file" if change == "gone" else "changed after its header was read"
    with pytest.raises(LimiteError, match=expected):
        numbers.read("f32")


def test_tensors_made_when_their_turn_comes(tmp_path: Path) -> None:
    made: list[str] = []

    def later(name: str, shape: tuple[int, ...]) -> DeferredTensor:
        def make() -> Tensor:
            made.append(name)
            return torch.ones(3)

        return DeferredTensor(dtype=torch.float32, shape=shape, make=make)

    path = tmp_path / "x.safetensors"
    write_tensor_file(path, {"b": later("b", (3,)), "a": later("a", (3,))})
    assert made == ["a", "b"]
    assert torch.equal(read_all(path)["b"], torch.ones(3))
    wrong = tmp_path / "wrong.safetensors"
    with pytest.raises(
        LimiteError, match=r"c: expected torch\.float32 of shape \[4\], got .*\[3\]"
    ):
        write_tensor_file(wrong, {"c": later("c", (4,))})
    assert sorted(os.listdir(tmp_path)) == ["x.safetensors"]


def test_one_storage_under_two_names_is_written_twice(tmp_path: Path) -> None:
    weight = torch.arange(6.0).reshape(2, 3)
    path = tmp_path / "x.safetensors"
    write_tensor_file(path, {"embed": weight, "head": weight, "turned": weight.T})
    found = read_all(path)
    assert torch.equal(found["embed"], weight)
    assert torch.equal(found["head"], weight)
    assert torch.equal(found["turned"], weight.T)


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"mine")
    with pytest.raises(LimiteError, match="exists already"):
        write_tensor_file(path, {"a": torch.ones(1)})
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(LimiteError, match="exists already"):
        write_tensor_file(link, {"a": torch.ones(1)})
    assert path.read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([("a", torch.ones(1)), ("a", torch.ones(1))], "two tensors are named 'a'"),
        ({"a/b": torch.ones(1)}, "a/b: expected a tensor's name"),
        ({"__metadata__": torch.ones(1)}, "expected a tensor's name"),
        ({"a\x1b[2J": torch.ones(1)}, r"'a\\x1b\[2J': expected a tensor's name"),
        ({"a": torch.ones(1, dtype=torch.complex64)}, "'a' is torch.complex64"),
        ({"a": torch.ones(1, device="meta")}, "'a' is without values"),
        ({"a": torch.eye(2).to_sparse()}, "'a' is torch.float32, torch.sparse_coo"),
        (
            {"a": DeferredTensor(dtype=torch.complex64, shape=(), make=lambda: torch.ones(()))},
            "'a' is torch.complex64",
        ),
    ],
)
def test_a_tensor_that_cannot_be_stored_is_refused(
    tmp_path: Path, values: dict[str, Tensor], why: str
) -> None:
    with pytest.raises(LimiteError, match=why):
        write_tensor_file(tmp_path / "x.safetensors", values)
    with pytest.raises(LimiteError, match="metadata: expected texts"):
        write_tensor_file(tmp_path / "x.safetensors", {}, {"step": 3})  # type: ignore[dict-item]
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, fail_at) -> None:
    values = {"a": torch.arange(50.0), "b": torch.ones(3, dtype=torch.bfloat16)}
    done = False
    for number in range(20):
        with fail_at(number) as calls:
            try:
                write_tensor_file(tmp_path / f"{number}.safetensors", values)
            except RunFailed as error:
                assert "no space left" in str(error)  # noqa: PT017
        done = len(calls) <= number
        if done:
            break
        # Only after the rename may a call fail with the file there.
        assert os.listdir(tmp_path) == [] or calls[-1] == "fsync"
        for left in tmp_path.iterdir():
            assert all_bits(read_all(left)) == all_bits(values)
            left.unlink()
    assert done
    assert number > 4
    assert all_bits(read_all(tmp_path / f"{number}.safetensors")) == all_bits(values)


def test_all_mistakes_of_a_header_come_at_once(forge) -> None:
    good = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    path = forge({"a": good | {"dtype": "F23"}, "b": good | {"shape": [-1]}, "c": good}, bytes(4))
    with pytest.raises(SettingsError) as caught:
        TensorFile.open(path)
    assert len(caught.value.mistakes) == 2
    assert "a: expected a dtype of BOOL" in str(caught.value)
    assert "did you mean 'F32'?" in str(caught.value)
    assert "b: expected a shape of whole numbers from 0, got [-1]" in str(caught.value)
