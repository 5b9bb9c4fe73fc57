"""2-simplicial attention in Triton: launches of its kernels, and the differentiable operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.dispatch import Case
from limite.core.kernels.layout import Layout
from limite.core.kernels.segments import Segments, Spans, reach, spans
from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.simplicial_kernels import (
    simplicial_backward_dkv,
    simplicial_backward_dq,
    simplicial_forward,
)
from limite.core.kernels.triton.views import side_by_side, strides_of

WIDTHS = tuple(width for width in runtime.WIDTHS if width <= 128)
"""Wider heads leave no room for the sums of five gradients."""


def refuses(case: Case) -> str | None:
    """Why a case cannot run here."""
    if case.option is not None:
        return f"only the reference computes the form {case.option!r}"
    if case.width not in WIDTHS:
        return f"there are kernels for head widths {WIDTHS}, not {case.width}"
    return None


def simplicial_attention(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    *,
    scale: float,
    window1: int | None,
    window2: int | None,
    segments: Segments | None = None,
    form: str = "trilinear",
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """The output ``[B, H, Tq, D]`` and log-sum-exp ``[B, H, Tq]``."""
    assert form == "trilinear"
    rows = None if segments is None else spans(segments)
    if rows is not None and not isinstance(segments, Layout):  # a layout has no padding
        padding = rows.padding[:, None, :, None]
        k1, k2, v1, v2 = (each.masked_fill(padding, 0.0) for each in (k1, k2, v1, v2))
    inputs = (q, k1, k2, v1, v2)
    arguments = (scale, window1, window2, rows)
    forward = runtime.tile("simplicial_forward", q, q.shape[3])
    if torch.is_grad_enabled() and any(each.requires_grad for each in inputs):
        dq = runtime.tile("simplicial_backward_dq", q, q.shape[3])
        dkv = runtime.tile("simplicial_backward_dkv", q, q.shape[3])
        result: tuple[Tensor, Tensor] = _Simplicial.apply(  # type: ignore[no-untyped-call]
            *inputs, *arguments, forward, dq, dkv
        )
        out, lse = result
    else:
        out, lse = simplicial_attention_forward(*inputs, *arguments, forward)
    return out, lse if need_lse else None


class _Simplicial(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor]:
        out, lse = simplicial_attention_forward(*inputs[:-2])
        ctx.save_for_backward(*inputs[:5], out, lse)
        ctx.arguments, ctx.tiles = inputs[5:9], inputs[-2:]
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor | None, d_lse: Tensor | None) -> tuple[Any, ...]:
        q, k1, k2, v1, v2, out, lse = ctx.saved_tensors
        found = simplicial_attention_backward(
            q, k1, k2, v1, v2, out, lse, d_out, d_lse, *ctx.arguments, *ctx.tiles
        )
        return (*found, *(None,) * 7)


def simplicial_attention_forward(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    scale: float,
    window1: int | None,
    window2: int | None,
    rows: Spans | None,
    tile: Tile,
) -> tuple[Tensor, Tensor]:
    """The output ``[B, H, Tq, D]`` and log-sum-exp ``[B, H, Tq]``."""
    batch, heads, queries = q.shape[:3]
    kv_heads, keys = k1.shape[1:3]
    out = runtime.empty(q.shape, runtime.storage_dtype(q.dtype), q.device)
    lse = runtime.empty(q.shape[:3], torch.float32, q.device)
    if q.numel():
        q, k1, k2, v1, v2 = map(side_by_side, (q, k1, k2, v1, v2))
        (single, tiled), windows = _ordered((k1, v1), (k2, v2), keys, window1, window2)
        starts, _ = _bounds(rows, q)
        constants = _constants(q, heads // kv_heads, rows, tile)
        programs = runtime.cdiv(queries, tile["R"] // constants["GH"])
        programs *= runtime.cdiv(constants["G"], constants["GH"]) * batch * kv_heads
        simplicial_forward[(programs,)](
            q, *single, *tiled, starts, out, lse,
            *strides_of(q, *single, *tiled), scale, kv_heads, queries, keys, *windows,
            **constants, **runtime.options(tile),
        )  # fmt: skip
    return runtime.rounded(out, q.dtype), lse


def simplicial_attention_backward(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    out: Tensor,
    lse: Tensor,
    d_out: Tensor | None,
    d_lse: Tensor | None,
    scale: float,
    window1: int | None,
    window2: int | None,
    rows: Spans | None,
    tile_dq: Tile,
    tile_dkv: Tile,
) -> tuple[Tensor, ...]:
    """The gradients of q, k1, k2, v1 and v2."""
    inputs = (q, k1, k2, v1, v2)
    if not q.numel() or (d_out is None and d_lse is None):
        return tuple(torch.zeros_like(each) for each in inputs)
    batch, heads, queries = q.shape[:3]
    kv_heads, keys = k1.shape[1:3]
    dtype, stored = q.dtype, runtime.storage_dtype(q.dtype)
    d_out = torch.zeros_like(out) if d_out is None else side_by_side(d_out)
    d_q, d_k1, d_k2, d_v1, d_v2 = (runtime.empty(x.shape, stored, x.device) for x in inputs)
    delta = runtime.empty(lse.shape, torch.float32, q.device)
    q, k1, k2, v1, v2 = map(side_by_side, inputs)
    starts, ends = _bounds(rows, q)
    (single, tiled), windows = _ordered((k1, v1), (k2, v2), keys, window1, window2)
    constants = _constants(q, heads // kv_heads, rows, tile_dq)
    programs = runtime.cdiv(queries, tile_dq["R"] // constants["GH"])
    programs *= runtime.cdiv(constants["G"], constants["GH"]) * batch * kv_heads
    simplicial_backward_dq[(programs,)](
        q, *single, *tiled, starts, out, lse, d_out,
        lse if d_lse is None else d_lse.contiguous(), delta, d_q,
        *strides_of(q, *single, *tiled, d_out), scale, kv_heads, queries, keys, *windows,
        **constants, DLSE=d_lse is not None, **runtime.options(tile_dq),
    )  # fmt: skip
    constants = _constants(q, heads // kv_heads, rows, tile_dkv)
    programs = runtime.cdiv(keys, tile_dkv["BN"]) * batch * kv_heads
    first = ((k1, v1), (d_k1, d_v1), reach(keys, window1))
    second = ((k2, v2), (d_k2, d_v2), reach(keys, window2))
    for (single, _, window), (tiled, d_tiled, window_tiled) in ((first, second), (second, first)):
        simplicial_backward_dkv[(programs,)](
            q, *single, *tiled, starts, ends, lse, d_out, delta, *d_tiled,
            *strides_of(q, *single, *tiled, d_out), scale, kv_heads, queries, keys,
            window, window_tiled, **constants, **runtime.options(tile_dkv),
        )  # fmt: skip
    return tuple(runtime.rounded(each, dtype) for each in (d_q, d_k1, d_k2, d_v1, d_v2))


Stream = tuple[Tensor, Tensor]
"""Keys and values."""


def _ordered(
    first: Stream, second: Stream, keys: int, window1: int | None, window2: int | None
) -> tuple[tuple[Stream, Stream], tuple[int, int]]:
    """The stream with the shorter window, to go through key by key, before the other."""
    one, two = reach(keys, window1), reach(keys, window2)
    return ((first, second), (one, two)) if one <= two else ((second, first), (two, one))


def _bounds(rows: Spans | None, q: Tensor) -> tuple[Tensor, Tensor]:
    """Starts and ends of every token's row; anything where there are none."""
    return (q, q) if rows is None else (rows.starts.contiguous(), rows.ends.contiguous())


def _constants(q: Tensor, group: int, rows: Spans | None, tile: Tile) -> dict[str, Any]:
    return {
        "G": group,
        "GH": min(group, tile["R"]),
        "D": q.shape[3],
        "R": tile["R"],
        "BN": tile["BN"],
        "DT": runtime.dot_dtype(q.dtype),
        "SEGMENTED": rows is not None,
    }


STRIDES = tuple(f"{tensor}_{axis}" for tensor in ("q", "ks", "vs", "kt", "vt") for axis in "bht")


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """Every kernel as it is launched in training: in groups of 5 heads, over packed rows.

    In float16 over whole ones, and with a gradient of the log-sum-exp, so that these compile too.
    """
    whole = dtype == "fp16"
    full = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[dtype]
    pointers = ("q", "ks", "vs", "kt", "vt", "starts")
    d_out = ("do_b", "do_h", "do_t")
    kinds: dict[str, tuple[Any, tuple[str, ...], tuple[str, ...], dict[str, Any]]] = {
        "simplicial_forward": (simplicial_forward, (*pointers, "out", "lse"), STRIDES, {}),
        "simplicial_backward_dq": (
            simplicial_backward_dq,
            (*pointers, "out", "lse", "do", "dlse", "delta", "dq"),
            (*STRIDES, *d_out),
            {"DLSE": whole},
        ),
        "simplicial_backward_dkv": (
            simplicial_backward_dkv,
            (*pointers, "ends", "lse", "do", "delta", "dk", "dv"),
            (*STRIDES, *d_out),
            {},
        ),
    }
    special = {"starts": "*i32", "ends": "*i32", "lse": "*fp32", "dlse": "*fp32", "delta": "*fp32"}
    for kernel, (function, tensors, strides, constants) in kinds.items():
        tile = tile_of(kernel)
        signature = {f"{name}_ptr": special.get(name, f"*{dtype}") for name in tensors}
        signature |= dict.fromkeys(strides, "i32")
        signature |= {"scale": "fp32"} | dict.fromkeys(("K", "Tq", "Tk", "WS", "WT"), "i32")
        yield runtime.Specimen(
            kernel=kernel,
            function=function,
            signature=signature,
            constants={
                "G": 5,
                "GH": 5,
                "D": width or 128,
                "R": tile["R"],
                "BN": tile["BN"],
                "DT": runtime.dot_dtype(full),
                "SEGMENTED": not whole,
                **constants,
            },
            aligned=(*(f"{name}_ptr" for name in tensors), *strides),
            tile=tile,
            matrix=True,
        )
