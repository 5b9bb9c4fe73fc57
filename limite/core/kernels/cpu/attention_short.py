"""Attention over short packed rows, forward and backward as plain batched products.

For rows of some dozens of tokens where torch's own operator does not serve: with a cap, or where
the log-sum-exp is asked for. Weights are kept for the backward pass, ``b H T T``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import attrs
import torch
from torch import Tensor

from limite.core.kernels.cpu.attention_fold import cut, fold, join, pieces, spread, unfold
from limite.core.kernels.layout import Layout

NEAR_SCORES = 1 << 19
"""Rows are worked through together up to this many scores."""


@attrs.define(eq=False)
class Short:
    """What shapes the computation, apart from the tensors."""

    layout: Layout
    biases: Sequence[Tensor]  # [Tq * G, Tk] of each block: 0 where visible, else -inf
    scale: float
    softcap: float | None


@lru_cache(maxsize=16)
def bias(
    queries: int,
    keys: int,
    window: int | None,
    group: int,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    """What is added to scores ``[Tq * G, Tk]``; queries are the last of the keys' tokens."""
    place = torch.arange(keys, device=device)
    distance = place[keys - queries :, None] - place
    hidden = (distance < 0) | (distance >= (keys if window is None else window))
    added = torch.zeros(hidden.shape, dtype=dtype, device=device)
    return added.masked_fill_(hidden, -torch.inf).repeat_interleave(group, dim=0)


def weigh(
    q: Tensor, k: Tensor, added: Tensor, scale: float, softcap: float | None, need_lse: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Weights ``[b, Tq, Tk]``, the log-sum-exp ``[b, Tq, 1]``, and the slope of a cap."""
    if softcap is None:
        slope = None
        scores = torch.baddbmm(added, q, k.transpose(1, 2), alpha=scale)
    else:
        bent = torch.bmm(q, k.transpose(1, 2)).mul_(scale / softcap).tanh_()
        slope = bent.square().neg_().add_(1.0)
        scores = bent.mul_(softcap).add_(added)
    weights = scores.softmax(-1)
    if not need_lse:
        return weights, None, slope
    # The largest weight is exp(largest score - log-sum-exp), and no less than one in Tk.
    lse = scores.amax(-1, keepdim=True) - weights.amax(-1, keepdim=True).log_()
    return weights, lse, slope


def unweigh(
    weights: Tensor,
    slope: Tensor | None,
    out: Tensor,
    v: Tensor,
    d_out: Tensor,
    d_lse: Tensor | None,
) -> Tensor:
    """The gradient of the scaled scores, from those of the outputs and of the log-sum-exp."""
    delta = (d_out * out).sum(-1, keepdim=True)
    if d_lse is not None:
        delta -= d_lse
    d_scores = torch.bmm(d_out, v.transpose(1, 2)).sub_(delta).mul_(weights)
    return d_scores if slope is None else d_scores.mul_(slope)


def short_forward(
    q: Tensor, k: Tensor, v: Tensor, short: Short, need_lse: bool
) -> tuple[Tensor, Tensor | None, list[Tensor]]:
    """Output and log-sum-exp of ``[B, heads, T, D]``, and what the backward pass reads."""
    kv_heads = k.shape[1]
    kept: list[Tensor] = []
    outs, sums = [], []
    blocks = zip(
        cut(q, short.layout),
        cut(k, short.layout),
        cut(v, short.layout),
        short.biases,
        strict=True,
    )
    for q, k, v, added in _near(blocks, kv_heads):
        rows, queries = q.shape[:2]
        q, k, v = (fold(x, kv_heads) for x in (q, k, v))  # [b * K, Tq * G, D], [b * K, Tk, D]
        weights, lse, slope = weigh(q, k, added, short.scale, short.softcap, need_lse)
        out = torch.bmm(weights, v)
        kept += [q, k, v, weights, out] if slope is None else [q, k, v, weights, out, slope]
        outs.append(unfold(out, rows, queries))
        if lse is not None:
            sums.append(unfold(lse, rows, queries))
    lse = join(sums, short.layout).squeeze(-1) if need_lse else None
    return join(outs, short.layout), lse, kept


def _near(
    blocks: Iterable[tuple[Tensor, Tensor, Tensor, Tensor]], kv_heads: int
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Blocks, and their biases, in pieces of rows whose scores fit near the processor."""
    for q, k, v, added in blocks:
        count = max(1, NEAR_SCORES // (kv_heads * added.numel()))
        for piece in zip(q.split(count), k.split(count), v.split(count), strict=True):
            yield *piece, added


def short_backward(
    kept: Sequence[Tensor],
    d_out: Tensor | None,
    d_lse: Tensor | None,
    short: Short,
    kv_heads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of ``q``, ``k`` and ``v``, which have ``kv_heads``."""
    d_qs, d_ks, d_vs = [], [], []
    each = 5 if short.softcap is None else 6
    nothing: list[Tensor | None] = [None] * (len(kept) // each)
    counts = [len(kept[place]) // kv_heads for place in range(0, len(kept), each)]
    gs = nothing if d_out is None else pieces(spread(d_out, short.layout), counts)
    hs = nothing if d_lse is None else pieces(spread(d_lse[..., None], short.layout), counts)
    for number, (some_g, some_h) in enumerate(zip(gs, hs, strict=True)):
        q, k, v, weights, out, *slope = kept[each * number : each * (number + 1)]
        upstream = some_g if some_g is not None else some_h
        assert upstream is not None
        rows, queries = upstream.shape[:2]
        keys = k.shape[1]
        g = torch.zeros_like(out) if some_g is None else fold(some_g, kv_heads)
        h = None if some_h is None else fold(some_h, kv_heads)
        d_scores = unweigh(weights, slope[0] if slope else None, out, v, g, h)
        d_q = torch.bmm(d_scores, k).mul_(short.scale)
        d_k = torch.bmm(d_scores.transpose(1, 2), q).mul_(short.scale)
        d_v = torch.bmm(weights.transpose(1, 2), g)
        d_qs.append(unfold(d_q, rows, queries))
        d_ks.append(unfold(d_k, rows, keys))
        d_vs.append(unfold(d_v, rows, keys))
    return join(d_qs, short.layout), join(d_ks, short.layout), join(d_vs, short.layout)
