"""Norm and rotation of queries and keys in Triton: heads kept whole, read once."""

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
def _forward_kernel(
    x_ptr, cos_ptr, sin_ptr, y_ptr, stride_token, stride_head, stride_cos, stride_sin, N,
    HEADS: tl.constexpr, D: tl.constexpr, PAIRS: tl.constexpr, ADJACENT: tl.constexpr,
    EPS: tl.constexpr, ROWS: tl.constexpr, BP: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    # A row is a head of a token. Channels: 2 PAIRS that turn, then the rest.
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    there = row < N
    token = (row // HEADS).to(tl.int64)
    head = row % HEADS
    x_at = x_ptr + token * stride_token + head * stride_head
    y_at = y_ptr + row.to(tl.int64) * D
    square = tl.zeros((ROWS,), tl.float32)
    if PAIRS > 0:
        a, b = load_pairs(x_at, there, PAIRS, BP, ADJACENT)
        square += tl.sum(a * a, 1) + tl.sum(b * b, 1)
    if D > 2 * PAIRS:
        channel = tl.arange(0, BR)[None, :] + 2 * PAIRS
        inside = there & (channel < D)
        rest = tl.load(x_at + channel, mask=inside, other=0.0).to(tl.float32)
        square += tl.sum(rest * rest, 1)
    inverse = tl.rsqrt(tl.where(there, (square / D + EPS)[:, None], 1.0))
    if PAIRS > 0:
        cos, sin = load_turns(cos_ptr, sin_ptr, token, stride_cos, stride_sin, there, PAIRS, BP)
        if not ADJACENT:
            sin = -sin
        a = a * inverse
        b = b * inverse
        store_pairs(y_at, a * cos + b * sin, b * cos - a * sin, there, PAIRS, BP, ADJACENT)
    if D > 2 * PAIRS:
        tl.store(y_at + channel, rest * inverse, mask=inside)


@triton.jit
def _backward_kernel(
    dy_ptr, x_ptr, cos_ptr, sin_ptr, dx_ptr, stride_dy_token, stride_dy_head,
    stride_token, stride_head, stride_cos, stride_sin, N,
    HEADS: tl.constexpr, D: tl.constexpr, PAIRS: tl.constexpr, ADJACENT: tl.constexpr,
    EPS: tl.constexpr, ROWS: tl.constexpr, BP: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    there = row < N
    token = (row // HEADS).to(tl.int64)
    head = row % HEADS
    x_at = x_ptr + token * stride_token + head * stride_head
    dy_at = dy_ptr + token * stride_dy_token + head * stride_dy_head
    dx_at = dx_ptr + row.to(tl.int64) * D
    square = tl.zeros((ROWS,), tl.float32)
    along = tl.zeros((ROWS,), tl.float32)
    if PAIRS > 0:
        a, b = load_pairs(x_at, there, PAIRS, BP, ADJACENT)
        turned_a, turned_b = load_pairs(dy_at, there, PAIRS, BP, ADJACENT)
        cos, sin = load_turns(cos_ptr, sin_ptr, token, stride_cos, stride_sin, there, PAIRS, BP)
        if not ADJACENT:
            sin = -sin
        da = turned_a * cos - turned_b * sin
        db = turned_b * cos + turned_a * sin
        square += tl.sum(a * a, 1) + tl.sum(b * b, 1)
        along += tl.sum(a * da, 1) + tl.sum(b * db, 1)
    if D > 2 * PAIRS:
        channel = tl.arange(0, BR)[None, :] + 2 * PAIRS
        inside = there & (channel < D)
        rest = tl.load(x_at + channel, mask=inside, other=0.0).to(tl.float32)
        d_rest = tl.load(dy_at + channel, mask=inside, other=0.0).to(tl.float32)
        square += tl.sum(rest * rest, 1)
        along += tl.sum(rest * d_rest, 1)
    inverse = tl.rsqrt(tl.where(there, (square / D + EPS)[:, None], 1.0))
    share = along[:, None] * inverse * inverse / D
    if PAIRS > 0:
        da = inverse * (da - a * share)
        db = inverse * (db - b * share)
        store_pairs(dx_at, da, db, there, PAIRS, BP, ADJACENT)
    if D > 2 * PAIRS:
        tl.store(dx_at + channel, inverse * (d_rest - rest * share), mask=inside)


def qk_norm_rope_forward(qk: Tensor, rotation: Rotation | None, eps: float, tile: Tile) -> Tensor:
    """The turned norms."""
    flat = in_heads(qk)
    tokens, heads, width = flat.shape
    constants = constants_of(heads, width, rotation, tile)
    cos, sin = tables_of(rotation, constants["PAIRS"])
    out = runtime.empty(qk.shape, runtime.storage_dtype(qk.dtype), qk.device)
    _forward_kernel[(runtime.cdiv(tokens * heads, constants["ROWS"]),)](
        flat, cos, sin, out, flat.stride(0), flat.stride(1),
        *table_strides(cos, sin), tokens * heads, EPS=eps, **constants, **runtime.options(tile),
    )  # fmt: skip
    return runtime.rounded(out, qk.dtype)


def qk_norm_rope_backward(
    gradient: Tensor, qk: Tensor, rotation: Rotation | None, eps: float, tile: Tile
) -> Tensor:
    """The gradient of ``qk``: the upstream one turned back, then the norm's."""
    flat, upstream = in_heads(qk), in_heads(gradient)
    tokens, heads, width = flat.shape
    constants = constants_of(heads, width, rotation, tile)
    cos, sin = tables_of(rotation, constants["PAIRS"])
    out = runtime.empty(qk.shape, runtime.storage_dtype(qk.dtype), qk.device)
    _backward_kernel[(runtime.cdiv(tokens * heads, constants["ROWS"]),)](
        upstream, flat, cos, sin, out, upstream.stride(0), upstream.stride(1),
        flat.stride(0), flat.stride(1),
        *table_strides(cos, sin), tokens * heads, EPS=eps, **constants, **runtime.options(tile),
    )  # fmt: skip
    return runtime.rounded(out, qk.dtype)


class _QKNormRope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qk: Tensor, rotation: Rotation | None, eps: float, tile: Tile) -> Tensor:
        ctx.save_for_backward(qk)
        ctx.rotation, ctx.eps = rotation, eps
        ctx.tile = runtime.tile("qk_norm_rope_backward", qk, qk.shape[-1])
        return qk_norm_rope_forward(qk, rotation, eps, tile)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (qk,) = ctx.saved_tensors
        d_qk = qk_norm_rope_backward(gradient, qk, ctx.rotation, ctx.eps, ctx.tile)
        return d_qk, None, None, None


def qk_norm_rope(qk: Tensor, rotation: Rotation | None, *, eps: float) -> Tensor:
    """Every head at unit root mean square, turned by its token's position, rounded once."""
    tile = runtime.tile("qk_norm_rope_forward", qk, qk.shape[-1])
    if torch.is_grad_enabled():
        result: Tensor = _QKNormRope.apply(qk, rotation, eps, tile)  # type: ignore[no-untyped-call]
        return result
    return qk_norm_rope_forward(qk, rotation, eps, tile)


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """Both kernels over Limite's heads, in both styles, and without a turn."""
    width = width or 128
    for pairs, adjacent in ((width // 4, True), (width // 2, False), (0, True)):
        for kernel, function, upstream in (
            ("qk_norm_rope_forward", _forward_kernel, ()),
            ("qk_norm_rope_backward", _backward_kernel, ("dy",)),
        ):
            tile = tile_of(kernel)
            result = "dx_ptr" if upstream else "y_ptr"
            data = [*(f"{name}_ptr" for name in upstream), "x_ptr", result]
            tables = ["cos_ptr", "sin_ptr"]
            numbers = [f"stride_{name}_{axis}" for name in upstream for axis in ("token", "head")]
            numbers += ["stride_token", "stride_head", "stride_cos", "stride_sin", "N"]
            signature = dict.fromkeys(data, f"*{dtype}") | dict.fromkeys(numbers, "i32")
            constants: dict[str, Any] = {
                "HEADS": 12,
                "D": width,
                "PAIRS": pairs,
                "ADJACENT": adjacent,
                "EPS": 2.0**-23,
                "ROWS": max(1, tile["elements"] // width),
                "BP": max(pairs, 1),
                "BR": max(width - 2 * pairs, 1),
            }
            if pairs:
                signature |= dict.fromkeys(tables, "*fp32")
            else:
                constants |= dict.fromkeys(tables)
            yield runtime.Specimen(
                kernel=kernel,
                function=function,
                signature=signature,
                constants=constants,
                aligned=[*data, *(tables if pairs else ()), *numbers],
                tile=tile,
                matrix=False,
            )
