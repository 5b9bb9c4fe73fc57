"""Attention in Triton: the differentiable operation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.dispatch import Case
from limite.core.kernels.segments import Segments, Spans, spans
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.attention_backward import (
    attention_backward,
)
from limite.core.kernels.triton.attention_forward import (
    attention_forward,
)


def refuses(case: Case) -> str | None:
    if case.width not in runtime.WIDTHS:
        return f"the kernels take heads of width {', '.join(map(str, runtime.WIDTHS))}"
    return None


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float,
    window: int | None = None,
    segments: Segments | None = None,
    softcap: float | None = None,
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    if scale < 0:  # the kernels look for the largest product of q and k, not of it with the scale
        q, scale = -q, -scale
    q, k, v = _unit(q), _unit(k), _unit(v)
    rows = None if segments is None else _contiguous(spans(segments))
    numbers = (scale, window, softcap)
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        out, lse = _Attention.apply(  # type: ignore[no-untyped-call]
            q, k, v, rows, *numbers
        )
    else:
        out, lse = _run(q, k, v, rows, *numbers)
    return out, lse if need_lse else None


def _run(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rows: Spans | None,
    scale: float,
    window: int | None,
    softcap: float | None,
) -> tuple[Tensor, Tensor]:
    return attention_forward(
        q,
        k,
        v,
        None if rows is None else rows.starts,
        scale=scale,
        window=window,
        softcap=softcap,
        tile=runtime.tile("attention_forward", q, q.shape[3]),
    )


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        rows: Spans | None,
        scale: float,
        window: int | None,
        softcap: float | None,
    ) -> tuple[Tensor, Tensor]:
        out, lse = _run(q, k, v, rows, scale, window, softcap)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.set_materialize_grads(False)
        ctx.rows, ctx.numbers = rows, {"scale": scale, "window": window, "softcap": softcap}
        ctx.tiles = {
            name: runtime.tile(f"attention_backward_{name}", q, q.shape[3])
            for name in ("dq", "dkv")
        }
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor | None, dlse: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        dout = torch.zeros_like(out) if dout is None else _unit(dout)
        gradients = attention_backward(
            dout,
            dlse,
            q,
            k,
            v,
            out,
            lse,
            ctx.rows,
            **ctx.numbers,
            dq_tile=ctx.tiles["dq"],
            dkv_tile=ctx.tiles["dkv"],
        )
        return *gradients, None, None, None, None


def _unit(tensor: Tensor) -> Tensor:
    """The tensor with its last axis contiguous: nearly always as it is."""
    return tensor if tensor.stride(3) == 1 else tensor.contiguous()


def _contiguous(rows: Spans) -> Spans:
    return Spans(rows.starts.contiguous(), rows.ends.contiguous())
