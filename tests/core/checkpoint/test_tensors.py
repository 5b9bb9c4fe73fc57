from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.checkpoint.read import read_checkpoint
from limite.core.checkpoint.tensor_header import NAMES as DTYPES
from limite.core.checkpoint.tensors import tensor_pieces
from limite.core.checkpoint.write import write_checkpoint
from limite.core.errors import LimiteError

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(
    lambda name: name != "__metadata__"
)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Any bits at all, NaNs of every kind among them, in any dtype, shape and stride."""
    dtype = draw(st.sampled_from(list(DTYPES)))
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    count = int(torch.Size(shape).numel())
    size = count * dtype.itemsize
    bits = draw(st.binary(min_size=size, max_size=size))
    if dtype is torch.bool:
        bits = bytes(byte & 1 for byte in bits)
    if not count:
        return torch.empty(shape, dtype=dtype)
    tensor = torch.frombuffer(bytearray(bits), dtype=dtype).reshape(shape)
    return tensor.transpose(0, -1) if len(shape) > 1 and draw(st.booleans()) else tensor


def bits(tensor: Tensor) -> tuple[torch.dtype, torch.Size, bytes]:
    content = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return tensor.dtype, tensor.shape, content


def whole(values: dict[str, Tensor]) -> tuple[bytes, dict[str, str]]:
    pieces, aliases = tensor_pieces(values, where="model")
    return b"".join(pieces), aliases


@given(st.dictionaries(NAMES, tensors(), max_size=5))
def test_the_safetensors_library_reads_the_same_bits(values: dict[str, Tensor]) -> None:
    content, aliases = whole(values)
    read = safetensors.torch.load(content)
    assert not aliases
    assert {name: bits(tensor) for name, tensor in read.items()} == {
        name: bits(tensor) for name, tensor in values.items()
    }
    assert whole(dict(reversed(values.items())))[0] == content


@given(st.dictionaries(NAMES, tensors(), max_size=5))
def test_a_checkpoint_gives_back_every_bit(values: dict[str, Tensor]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_checkpoint(folder, 0, {"model": values}, {}, {}, 1)
        read = read_checkpoint(path).payloads["model"]
    assert {name: bits(tensor) for name, tensor in read.items()} == {
        name: bits(tensor) for name, tensor in values.items()
    }


def test_a_tied_tensor_is_stored_once_and_comes_back_under_both_names(tmp_path: Path) -> None:
    weight = torch.arange(12.0).reshape(3, 4)
    values = {"head": weight, "embed": weight, "row": weight[0], "turned": weight.T}
    content, aliases = whole(values)
    assert aliases == {"head": "embed"}
    assert len(content) < 8 + 400 + 2 * 48 + 16
    path = write_checkpoint(tmp_path, 1, {"model": values}, {}, {}, 1)
    read = read_checkpoint(path).payloads["model"]
    assert read.keys() == values.keys()
    assert all(torch.equal(read[name], values[name]) for name in values)


def test_equal_values_in_separate_memory_are_both_stored() -> None:
    assert whole({"a": torch.zeros(3), "b": torch.zeros(3)})[1] == {}
    assert whole({"a": torch.empty(0), "b": torch.empty(0)})[1] == {}


@pytest.mark.parametrize(
    "tensor",
    [torch.zeros(2, dtype=torch.complex64), torch.eye(2).to_sparse()],
    ids=["complex", "sparse"],
)
def test_a_tensor_that_cannot_be_stored_is_named(tensor: Any) -> None:
    with pytest.raises(LimiteError, match=r"model: the tensor 'odd' is .*cannot be stored"):
        whole({"odd": tensor})
