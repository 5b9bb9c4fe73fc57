"""The turn of every head in Triton: one pass, the same one back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.rotation import Rotation
from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.turning import (
    constants_of,
    load_pairs,
    load_turns,
    store_pairs,
    table_strides,
    tables_of,
)
from limite.core.kernels.triton.turning import refuses as refuses
from limite.core.kernels.triton.views import in_heads


@triton.jit
def _kernel(
    x_ptr, cos_ptr, sin_ptr, y_ptr, stride_token, stride_head, stride_cos, stride_sin, N,
    HEADS: tl.constexpr, D: tl.constexpr, PAIRS: tl.constexpr, ADJACENT: tl.constexpr,
    BACK: tl.constexpr, ROWS: tl.constexpr, BP: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    # A row is a head of a token. Channels: 2 PAIRS that turn, then the rest.
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    there = row < N
    token = (row // HEADS).to(tl.int64)
    head = row % HEADS
    x_at = x_ptr + token * stride_token + head * stride_head
    y_at = y_ptr + row.to(tl.int64) * D
    if PAIRS > 0:
        a, b = load_pairs(x_at, there, PAIRS, BP, ADJACENT)
        cos, sin = load_turns(cos_ptr, sin_ptr, token, stride_cos, stride_sin, there, PAIRS, BP)
        if ADJACENT == BACK:
            sin = -sin
        store_pairs(y_at, a * cos + b * sin, b * cos - a * sin, there, PAIRS, BP, ADJACENT)
    if D > 2 * PAIRS:
        channel = tl.arange(0, BR)[None, :] + 2 * PAIRS
        inside = there & (channel < D)
        rest = tl.load(x_at + channel, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_at + channel, rest, mask=inside)


def turned(x: Tensor, rotation: Rotation, tile: Tile, *, back: bool) -> Tensor:
    """``x`` turned, by the opposite angle for ``back``."""
    flat = in_heads(x)
    tokens, heads, width = flat.shape
    constants = constants_of(heads, width, rotation, tile)
    cos, sin = tables_of(rotation, rotation.pairs)
    out = runtime.empty(x.shape, runtime.storage_dtype(x.dtype), x.device)
    _kernel[(runtime.cdiv(tokens * heads, constants["ROWS"]),)](
        flat, cos, sin, out, flat.stride(0), flat.stride(1),
        *table_strides(cos, sin), tokens * heads, BACK=back, **constants, **runtime.options(tile),
    )  # fmt: skip
    return runtime.rounded(out, x.dtype)


class _Rope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rotation: Rotation, tile: Tile) -> Tensor:
        ctx.rotation, ctx.tile = rotation, tile
        return turned(x, rotation, tile, back=False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return turned(gradient, ctx.rotation, ctx.tile, back=True), None, None


def rope(x: Tensor, rotation: Rotation) -> Tensor:
    """Every head turned by its token's position, rounded once."""
    tile = runtime.tile("rope", x, x.shape[-1])
    if torch.is_grad_enabled():
        result: Tensor = _Rope.apply(x, rotation, tile)  # type: ignore[no-untyped-call]
        return result
    return turned(x, rotation, tile, back=False)


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """Whole heads in halves, as Llama turns them, and parts of heads in neighbours; both ways."""
    width = width or 128
    tile = tile_of("rope")
    data, tables = ["x_ptr", "y_ptr"], ["cos_ptr", "sin_ptr"]
    numbers = ["stride_token", "stride_head", "stride_cos", "stride_sin", "N"]
    signature = dict.fromkeys(data, f"*{dtype}") | dict.fromkeys(tables, "*fp32")
    signature |= dict.fromkeys(numbers, "i32")
    for pairs, adjacent in ((width // 2, False), (width // 4, True)):
        for back in (False, True):
            yield runtime.Specimen(
                kernel="rope",
                function=_kernel,
                signature=signature,
                constants={
                    "HEADS": 12,
                    "D": width,
                    "PAIRS": pairs,
                    "ADJACENT": adjacent,
                    "BACK": back,
                    "ROWS": max(1, tile["elements"] // width),
                    "BP": pairs,
                    "BR": max(width - 2 * pairs, 1),
                },
                aligned=[*data, *tables, *numbers],
                tile=tile,
                matrix=False,
            )
