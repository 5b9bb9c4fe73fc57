"""Tensors as the bytes of a safetensors file, piece by piece, so that no second copy is held."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from limite.core.errors import LimiteError

_DTYPES = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.uint16: "U16",
    torch.int16: "I16",
    torch.uint32: "U32",
    torch.int32: "I32",
    torch.uint64: "U64",
    torch.int64: "I64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
}


def tensor_pieces(
    tensors: Mapping[str, Tensor], *, where: str
) -> tuple[Iterator[bytes | memoryview], dict[str, str]]:
    """The pieces of a safetensors file, and the aliases: names whose tensor another name holds.

    Tied weights are one tensor under two names and are stored once. Larger items come first, so
    every tensor is aligned.
    """
    stored: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    owners: dict[tuple[object, ...], str] = {}
    for name in sorted(tensors):
        tensor = tensors[name].detach()
        if tensor.dtype not in _DTYPES or tensor.layout is not torch.strided:
            raise LimiteError(
                f"{where}: the tensor {name!r} is {tensor.dtype}, {tensor.layout}; "
                "it cannot be stored"
            )
        # The data pointer of an empty tensor says nothing.
        memory = (tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        owner = owners.setdefault(memory, name) if tensor.numel() else name
        if owner == name:
            stored[name] = tensor
        else:
            aliases[name] = owner
    names = sorted(stored, key=lambda name: (-stored[name].element_size(), name))
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name in names:
        tensor = stored[name]
        end = offset + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    return _pieces(header, [stored[name] for name in names]), aliases


def _pieces(header: Mapping[str, object], tensors: list[Tensor]) -> Iterator[bytes | memoryview]:
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for tensor in tensors:
        host = tensor.cpu().resolve_neg().contiguous().reshape(-1)
        yield host.view(torch.uint8).numpy().data
