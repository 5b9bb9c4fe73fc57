"""Tensors as the bytes of a safetensors file, piece by piece, so that no second copy is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs
import torch
from torch import Tensor

from limite.core.checkpoint.tensor_header import (
    LENGTH_BYTES,
    NAMES,
    header_bytes,
    header_length,
    parse_header,
)
from limite.core.errors import LimiteError

FORMAT = {"format": "pt"}
"""The metadata without which other readers refuse a file."""


@attrs.frozen(kw_only=True)
class DeferredTensor:
    """A tensor that is made when its turn to be written comes, so that one at a time is held."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    make: Callable[[], Tensor]


Storable = Tensor | DeferredTensor


def tensor_pieces(
    tensors: Mapping[str, Storable], *, where: str
) -> tuple[Iterator[bytes | memoryview], dict[str, str]]:
    """The pieces of a safetensors file, and the aliases: names whose tensor another name holds.

    Tied weights are one tensor under two names and are stored once. Deferred tensors are made one
    after the other, in the order of ``file_order``.
    """
    stored: dict[str, Storable] = {}
    aliases: dict[str, str] = {}
    owners: dict[tuple[object, ...], str] = {}
    for name in sorted(tensors):
        tensor = tensors[name]
        if isinstance(tensor, DeferredTensor):
            stored[name] = tensor
            continue
        tensor = tensor.detach()
        check_storable(name, tensor, where)
        # The data pointer of an empty tensor says nothing.
        owner = owners.setdefault(memory_of(tensor), name) if tensor.numel() else name
        if owner == name:
            stored[name] = tensor
        else:
            aliases[name] = owner
    order = file_order({name: tensor.dtype for name, tensor in stored.items()})
    return _pieces({name: stored[name] for name in order}), aliases


def memory_of(tensor: Tensor) -> tuple[object, ...]:
    """What two names of one tensor have in common."""
    return (tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)


def file_order(dtypes: Mapping[str, torch.dtype]) -> list[str]:
    """Names in the order of their bytes: larger items first, so that every tensor is aligned."""
    return sorted(dtypes, key=lambda name: (-dtypes[name].itemsize, name))


def check_storable(name: str, tensor: Tensor, where: str) -> None:
    """Refuses a tensor that a safetensors file cannot hold."""
    if tensor.dtype not in NAMES or tensor.layout is not torch.strided or tensor.is_meta:
        what = "without values (meta)" if tensor.is_meta else f"{tensor.dtype}, {tensor.layout}"
        raise LimiteError(f"{where}: the tensor {name!r} is {what}; it cannot be stored")


def tensor_bytes(tensor: Tensor) -> memoryview:
    """The values of a tensor as a file has them, row by row. Copied only if they lie otherwise."""
    if not tensor.numel():  # one that numpy made has strides that no view takes
        return memoryview(bytearray())
    host = tensor.detach().cpu().resolve_neg().contiguous().reshape(-1)
    content: memoryview = host.view(torch.uint8).numpy().data
    return content


def parse_tensors(data: bytes, where: str) -> dict[str, Tensor]:
    """The tensors of a whole safetensors file in memory, each in memory of its own."""
    length = header_length(data[:LENGTH_BYTES], len(data), where)
    start = LENGTH_BYTES + length
    header = parse_header(data[LENGTH_BYTES:start], len(data) - start, where)
    view = memoryview(data)[start:]
    tensors = {}
    for name, entry in header.entries.items():
        tensors[name] = torch.empty(entry.shape, dtype=entry.dtype)
        tensor_bytes(tensors[name])[:] = view[entry.begin : entry.end]
    return tensors


def _pieces(tensors: Mapping[str, Storable]) -> Iterator[bytes | memoryview]:
    yield header_bytes({name: (t.dtype, t.shape) for name, t in tensors.items()}, FORMAT)
    for tensor in tensors.values():
        yield tensor_bytes(made(tensor))


def made(tensor: Storable) -> Tensor:
    """The tensor itself."""
    return tensor.make() if isinstance(tensor, DeferredTensor) else tensor


def make_all(payloads: Mapping[str, Mapping[str, Storable]]) -> None:
    """Makes every deferred tensor in the order in which a checkpoint is written, and keeps none.

    What is made by several processes together needs each of them to ask for it.
    """
    for tensors in payloads.values():
        for name in file_order({name: each.dtype for name, each in tensors.items()}):
            made(tensors[name])
