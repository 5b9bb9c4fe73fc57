"""2-simplicial attention over few tokens: all pairs of keys at once, in few operators.

At such sizes the calls cost more than the arithmetic: cutting windows out would not pay. Weights
are kept for the backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.layout import Layout
from limite.core.kernels.segments import Segments, reach, spans, visible

FEW = 1 << 15
"""Weights whose cost is that of the calls, whatever the windows."""

MOST = 1 << 20
"""Weights up to which this way may be the faster one: 4 MiB of float32."""

MASKED = -1.0e30
"""The score of what is not visible: finite, since -inf minus -inf is no number."""


def fits(q: Tensor, keys: int, window1: int | None, window2: int | None) -> bool:
    """Whether this is the faster way: few tokens, and windows that leave not much of them out."""
    every = q.shape[0] * q.shape[1] * q.shape[2]
    dense = every * keys * keys
    if dense <= FEW or dense > MOST:
        return dense <= FEW
    one, other = (reach(keys, each) for each in (window1, window2))
    # Blocks of queries read some more of the longer window than each of them sees.
    return dense <= FEW + 2 * every * min(one, other) * (max(one, other) + 8)


def short_attention(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    scale: float,
    window1: int | None,
    window2: int | None,
    segments: Segments | None,
    need_lse: bool,
) -> tuple[Tensor, Tensor | None]:
    """The output ``[B, H, Tq, D]`` and log-sum-exp ``[B, H, Tq]``."""
    inputs = (q, k1, k2, v1, v2)
    added = bias(q, k1.shape[2], window1, window2, segments)
    padding = None
    if segments is not None:
        padding = spans(segments).padding[:, None, :]  # [B, 1, Tk]
    if torch.is_grad_enabled() and any(each.requires_grad for each in inputs):
        result: tuple[Tensor, Tensor | None] = _Short.apply(  # type: ignore[no-untyped-call]
            *inputs, added, padding, scale, need_lse
        )
        return result
    return short_forward(*inputs, added, padding, scale, need_lse)[:2]


class _Short(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k1: Tensor,
        k2: Tensor,
        v1: Tensor,
        v2: Tensor,
        added: Tensor,
        padding: Tensor | None,
        scale: float,
        need_lse: bool,
    ) -> tuple[Tensor, Tensor | None]:
        out, lse, kept = short_forward(q, k1, k2, v1, v2, added, padding, scale, need_lse)
        ctx.save_for_backward(*kept)
        ctx.padding, ctx.scale, ctx.dtype = padding, scale, q.dtype
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor | None, d_lse: Tensor | None) -> tuple[Any, ...]:
        found = short_backward(ctx.saved_tensors, d_out, d_lse, ctx.padding, ctx.scale)
        return (*(each.to(ctx.dtype) for each in found), None, None, None, None)


def bias(
    q: Tensor, keys: int, window1: int | None, window2: int | None, segments: Segments | None
) -> Tensor:
    """What is added to scores: ``[B or 1, 1, Tq, T1, T2]``."""
    wide = torch.promote_types(q.dtype, torch.float32)
    if segments is None:
        return _causal(q.shape[2], keys, window1, window2, wide, q.device)
    if not isinstance(segments, Layout):
        return _bias(q.shape[2], keys, window1, window2, segments, wide, q.device)
    name = ("simplicial bias", q.shape[2], window1, window2, wide)
    if name not in segments.memo:
        with torch.inference_mode(False):  # it outlives the caller's mode
            segments.memo[name] = _bias(
                q.shape[2], keys, window1, window2, segments, wide, q.device
            )
    found: Tensor = segments.memo[name]
    return found


@lru_cache(maxsize=16)
def _causal(
    queries: int,
    keys: int,
    window1: int | None,
    window2: int | None,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    with torch.inference_mode(False):  # it outlives the caller's mode
        return _bias(queries, keys, window1, window2, None, dtype, device)


def _bias(
    queries: int,
    keys: int,
    window1: int | None,
    window2: int | None,
    segments: Segments | None,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    seen1, seen2 = (
        visible(queries, keys, window=window, segments=segments, device=device)
        for window in (window1, window2)
    )  # [B or 1, Tq, Tk]
    hidden = ~(seen1[:, :, :, None] & seen2[:, :, None, :])
    return torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, MASKED)[
        :, None
    ]


def _grouped(x: Tensor, kv_heads: int) -> Tensor:
    """``[B, H, Tq, D]`` as ``[B, K, G, Tq, 1, D]``."""
    return torch.unflatten(x, 1, (kv_heads, -1))[..., None, :]


def short_forward(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    added: Tensor,
    padding: Tensor | None,
    scale: float,
    need_lse: bool,
) -> tuple[Tensor, Tensor | None, Sequence[Tensor]]:
    """The output ``[B, H, Tq, D]``, log-sum-exp, and what ``short_backward`` reads."""
    dtype = q.dtype
    if dtype != added.dtype:
        q, k1, k2, v1, v2 = (each.to(added.dtype) for each in (q, k1, k2, v1, v2))
    batch, heads, queries, width = q.shape
    kv_heads, keys = k1.shape[1:3]
    unseen = None
    if padding is not None:  # [B, 1, Tk]
        unseen = padding[:, :, keys - queries :, None]
        q = q.masked_fill(unseen, 0.0)
        k1, k2, v1, v2 = (each.masked_fill(padding[..., None], 0.0) for each in (k1, k2, v1, v2))
    k2, v2 = (each.reshape(-1, keys, width) for each in (k2, v2))
    left = (_grouped(q, kv_heads) * k1[:, :, None, None]).reshape(len(k2), -1, width)
    scores = torch.bmm(left, k2.mT).view(batch, heads, queries, keys, keys)
    torch.add(added, scores, alpha=scale, out=scores)
    scores = scores.view(batch, heads, queries, -1)
    weights = scores.softmax(-1)
    right = torch.bmm(weights.view(len(k2), -1, keys), v2)
    right = right.view(batch, kv_heads, -1, queries, keys, width)
    out = (right * v1[:, :, None, None]).sum(-2).reshape(q.shape)
    # The largest weight is exp(its score - log-sum-exp).
    lse = scores.amax(-1).sub_(weights.amax(-1).log_()) if need_lse else None
    if unseen is not None:  # it saw nothing, all scores were equal
        out = out.masked_fill(unseen, 0.0)
        lse = None if lse is None else lse.masked_fill(unseen[..., 0], -torch.inf)
    return out.to(dtype), lse, (q, k1, k2, v1, v2, left, weights, right)


def short_backward(
    kept: Sequence[Tensor],
    d_out: Tensor | None,
    d_lse: Tensor | None,
    padding: Tensor | None,
    scale: float,
) -> tuple[Tensor, ...]:
    """The gradients of q, k1, k2, v1 and v2, wide."""
    q, k1, k2, v1, v2, left, weights, right = kept
    if d_out is None:
        d_out = torch.zeros_like(q)
    if padding is not None:
        unseen = padding[:, :, padding.shape[2] - q.shape[2] :]
        d_out = d_out.masked_fill(unseen[..., None], 0.0)
        d_lse = None if d_lse is None else d_lse.masked_fill(unseen, 0.0)
    upstream = _grouped(d_out.to(q.dtype), k1.shape[1])
    d_right = (upstream * v1[:, :, None, None]).reshape(left.shape)
    d_p = torch.bmm(d_right, v2.mT).view(weights.shape)
    shift = (d_p * weights).sum(-1)
    if d_lse is not None:
        shift = shift - d_lse
    d_s = d_p.sub_(shift[..., None]).mul_(weights).mul_(scale).view(len(k2), -1, k2.shape[1])
    d_left = torch.bmm(d_s, k2).view(right.shape)
    d_k2 = torch.bmm(d_s.mT, left)
    d_v2 = torch.bmm(weights.view(d_s.shape).mT, d_right)
    d_q = (d_left * k1[:, :, None, None]).sum(-2)
    d_k1 = (d_left * _grouped(q, k1.shape[1])).sum((2, 3))
    d_v1 = (right * upstream).sum((2, 3))
    return d_q.reshape(q.shape), d_k1, d_k2.view(k1.shape), d_v1, d_v2.view(v1.shape)
