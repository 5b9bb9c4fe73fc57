"""Attention of short packed rows, compiled, with its gradients; else the ``cpu`` kernel's."""

from __future__ import annotations

from typing import Any

import attrs
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.cpu import attention as cpu
from limite.core.kernels.layout import Layout
from limite.core.kernels.native.attention_decode import QUERIES, STEP
from limite.core.kernels.native.library import Argument, dense, parts, run
from limite.core.kernels.segments import Segments

LONGEST = 512
"""Tokens of the longest row: beyond, what one row and head needs lies too far from the processor
for these kernels, and torch's own are faster."""

WIDEST = 128
"""Channels of a head."""


@attrs.frozen(eq=False)
class _Shape:
    """What shapes the computation, apart from the tensors."""

    layout: Layout
    kv_heads: int
    group: int
    width: int
    scale: float
    window: int
    softcap: float

    @property
    def bounds(self) -> list[int]:
        layout = self.layout
        work = self.kv_heads * self.group * self.width * sum(n * n for n in layout.lengths)
        return parts(layout.rows * self.kv_heads, work)

    def room(self, bounds: list[int], lines: int) -> Tensor:
        longest = -(-self.layout.longest // STEP) * STEP
        return torch.empty((len(bounds) - 1) * lines * longest, dtype=torch.float32, device="cpu")

    @property
    def numbers(self) -> tuple[Argument, ...]:
        layout = self.layout
        return (
            layout.starts,
            layout.lengths_tensor,
            layout.longest,
            self.kv_heads,
            self.group,
            self.width,
            self.scale,
            self.window,
            self.softcap,
        )


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float,
    window: int | None,
    segments: Segments | None,
    softcap: float | None,
    need_lse: bool,
) -> tuple[Tensor, Tensor | None]:
    """See ``ops.attention``."""
    heads, width, kv_heads = q.shape[1], q.shape[-1], k.shape[1]
    packed = isinstance(segments, Layout) and segments.longest <= LONGEST
    if not packed or width > WIDEST:
        return cpu.attention(
            q,
            k,
            v,
            scale=scale,
            window=window,
            segments=segments,
            softcap=softcap,
            need_lse=need_lse,
        )
    assert isinstance(segments, Layout)
    longest = segments.longest
    reach = longest if window is None else min(window, longest)
    shape = _Shape(segments, kv_heads, heads // kv_heads, width, scale, reach, softcap or 0.0)
    streams = [x.squeeze(0).transpose(0, 1) for x in (q, k, v)]  # [N, heads, D]
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        out, lse = _Attention.apply(*streams, shape)  # type: ignore[no-untyped-call]
    else:
        out, lse = _forward(streams, shape, need_lse)
    sums = lse.transpose(0, 1)[None] if need_lse else None
    return out.transpose(0, 1)[None], sums


def _strided(streams: list[Tensor]) -> list[Argument]:
    """Every tensor with its strides of tokens and of heads; channels lie side by side."""
    given: list[Argument] = []
    for each in streams:
        if each.stride(-1) != 1:
            each = each.contiguous()
        given += [each, each.stride(0), each.stride(1)]
    return given


def _forward(streams: list[Tensor], shape: _Shape, need_lse: bool) -> tuple[Tensor, Tensor | None]:
    """The output ``[N, heads, D]`` and the log-sum-exp ``[N, heads]``."""
    tokens, heads, width = streams[0].shape
    out = streams[0].new_empty(tokens, heads, width)
    lse = out.new_empty(tokens, heads) if need_lse else None
    bounds = shape.bounds
    room = shape.room(bounds, width + QUERIES + 1)
    run("attention", bounds, *_strided(streams), *shape.numbers, room, out, lse)
    return out, lse


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, shape: _Shape
    ) -> tuple[Tensor, Tensor | None]:
        out, lse = _forward([q, k, v], shape, True)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.shape = shape
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor | None, d_lse: Tensor | None) -> tuple[Tensor | None, ...]:
        if d_out is None and d_lse is None:
            return None, None, None, None
        q, k, v, out, lse = ctx.saved_tensors
        shape: _Shape = ctx.shape
        d_q, d_k, d_v = (x.new_empty(x.shape) for x in (q, k, v))
        bounds = shape.bounds
        run(
            "attention_backward",
            bounds,
            *_strided([q, k, v]),
            *shape.numbers,
            out,
            lse,
            torch.zeros_like(out) if d_out is None else dense(d_out),
            None if d_lse is None else dense(d_lse),
            shape.room(bounds, 2 * (shape.width + QUERIES) + 1),
            d_q,
            d_k,
            d_v,
        )
        return d_q, d_k, d_v, None
