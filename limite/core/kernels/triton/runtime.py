"""What every kernel launch needs: Triton itself, tiles, memory for results."""

from __future__ import annotations

import os

# Fused multiply-add on: Triton 3.9 warns where this is unset, and 3.10 would leave it off.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

import attrs
import torch
import triton
import triton.language as tl
from torch import Tensor

from limite.core.kernels import tiles
from limite.core.kernels.tiles import Kind, Tile

INTERPRETED: bool = bool(triton.knobs.runtime.interpret)

WIDTHS = (16, 32, 64, 128, 256)
"""Head widths with kernels."""

LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453
MASKED = -1.0e30
"""The score of what is not visible: finite, since -inf minus -inf is no number."""

Allocate = Callable[[Sequence[int], torch.dtype, torch.device], Tensor]


def _plain(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=device)


_allocate: Allocate = _plain


def empty(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Memory for a result. Every launch takes it from here, so that tests can fence it."""
    return _allocate(shape, dtype, device)


@contextmanager
def allocating(allocate: Allocate) -> Iterator[None]:
    """Within the block, results lie where ``allocate`` puts them."""
    global _allocate
    before, _allocate = _allocate, allocate
    try:
        yield
    finally:
        _allocate = before


def storage_dtype(dtype: torch.dtype) -> torch.dtype:
    """In what a kernel writes a result of ``dtype``.

    The interpreter cuts bfloat16 off instead of rounding; there results are float32, and torch
    rounds them (``rounded``).
    """
    return torch.float32 if INTERPRETED and dtype == torch.bfloat16 else dtype


def rounded(result: Tensor, dtype: torch.dtype) -> Tensor:
    """A kernel's result in the dtype it was asked for in."""
    return result if result.dtype == dtype else result.to(dtype)


def dot_dtype(dtype: torch.dtype) -> Any:
    """The operand dtype of matrix products, as a constant of a kernel (``DT``).

    The interpreter computes bfloat16 products wrongly; there the operands are float32.
    """
    if dtype == torch.float16:
        return tl.float16
    return tl.bfloat16 if dtype == torch.bfloat16 and not INTERPRETED else tl.float32


def kind_of(dtype: torch.dtype) -> Kind:
    if INTERPRETED:
        return "interpreted"
    return "half" if dtype.itemsize == 2 else "float32"


@cache
def architecture(device: torch.device) -> int | None:
    """90 for sm_90; None without a GPU, and on those that are not NVIDIA's."""
    if device.type != "cuda" or torch.version.hip is not None:
        return None
    major, minor = torch.cuda.get_device_capability(device)
    return major * 10 + minor


def on_its_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operation that launches where its first tensor lies, whichever device is current.

    Triton launches on the current device, which need not be that of the tensors. Backward passes
    need no such care: autograd makes a node's device current before it calls it. With one device
    there is no choice, and the function stays as it is.
    """
    if torch.cuda.device_count() < 2:
        return function

    @wraps(function)
    def launched(first: Tensor, *others: Any, **options: Any) -> Any:
        with torch.cuda.device(first.device):
            return function(first, *others, **options)

    return launched


def tile(kernel: str, tensor: Tensor, width: int | None = None) -> Tile:
    """The tile of ``kernel`` for tensors like this one."""
    return tiles.tile(
        kernel,
        kind=kind_of(tensor.dtype),
        width=width,
        architecture=architecture(tensor.device),
    )


def options(chosen: Tile) -> dict[str, int]:
    """Launch options of a tile."""
    return {"num_warps": chosen.warps, "num_stages": chosen.stages}


@attrs.frozen(kw_only=True)
class Specimen:
    """A kernel as it is compiled ahead of time, for a dtype, a width and a tile.

    ``signature`` names the type of every argument that is no constant: ``"*bf16"``, ``"i32"``,
    ``"fp32"``; ``constants`` the values of all ``tl.constexpr`` ones. Pointers and strides listed
    in ``aligned`` are multiples of 16, as in the launches that count.
    """

    kernel: str
    function: Any
    signature: Mapping[str, str]
    constants: Mapping[str, Any]
    aligned: Sequence[str]
    tile: Tile
    matrix: bool  # whether it multiplies tiles of 64 rows, what HGMMA of sm_90 takes at once


def cdiv(total: int, block: int) -> int:
    return -(-total // block)


def next_power_of_2(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()
