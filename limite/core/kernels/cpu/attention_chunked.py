"""Attention over any length: chunks of queries against the keys they may see.

Weights are never kept: the backward pass computes them again from the log-sum-exp. A chunk visits
no key that none of its queries sees, and masks only where some see a key and others do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import attrs
import torch
from torch import Tensor

from limite.core.kernels.cpu.attention_fold import fold, unfold

CHUNK = 32
"""Queries of a chunk, where it has few keys."""

SHORTEST_CHUNK = 16

MOST_SCORES = 1 << 22
"""Of one row and chunk, unless a chunk of the shortest kind has more."""

NEAR_SCORES = 1 << 19
"""Rows are worked through together up to this many scores, which fit near the processor."""


@attrs.frozen(eq=False)
class Chunked:
    """What shapes the computation, apart from the tensors."""

    scale: float
    window: int | None
    softcap: float | None
    starts: Tensor | None = None  # [B, Tq] the first key that a query sees; Tk: none


@attrs.frozen
class Chunk:
    """Queries ``first`` to ``last``, keys ``low`` to ``high`` (exclusive)."""

    first: int
    last: int
    low: int
    high: int
    place: int  # of the first query among the keys


def chunks(queries: int, keys: int, heads: int, window: int | None) -> Iterator[Chunk]:
    """The chunks of all queries, which are the last of the keys' tokens.

    Their sizes depend on nothing but these numbers, so that a row's bits do not, either.
    """
    most = keys if window is None else min(keys, window + CHUNK)
    size = max(SHORTEST_CHUNK, min(CHUNK, MOST_SCORES // max(1, heads * most)))
    for first in range(0, queries, size):
        last = min(first + size, queries)
        place = keys - queries + first
        low = 0 if window is None else max(0, place - window + 1)
        yield Chunk(first, last, low, keys - queries + last, place)


def chunked_forward(q: Tensor, k: Tensor, v: Tensor, plan: Chunked) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp of ``q [B, H, Tq, D]``, ``k`` and ``v [B, K, Tk, D]``."""
    rows, heads, queries, _ = q.shape
    kv_heads, keys = k.shape[1:3]
    group = heads // kv_heads
    q, k, v = (fold(x.transpose(1, 2), kv_heads) for x in (q, k, v))
    q = q * plan.scale  # once here, not with every score
    out = torch.empty_like(q)  # [b * K, Tq * G, D]
    lse = q.new_empty((*q.shape[:2], 1))  # [b * K, Tq * G, 1]
    for each in chunks(queries, keys, heads, plan.window):
        a, b = each.first * group, each.last * group
        for some, part in _parts(rows, kv_heads, (b - a) * (each.high - each.low)):
            scores, _ = _scores(q[part, a:b], k[part, each.low : each.high], each, plan, some)
            peak = scores.amax(-1, keepdim=True)
            if plan.starts is not None:
                peak.masked_fill_(peak == -torch.inf, 0.0)
            weights = scores.sub_(peak).exp_()
            total = weights.sum(-1, keepdim=True)
            lse[part, a:b] = total.log().add_(peak)
            if plan.starts is not None:
                total.masked_fill_(total == 0, 1.0)
            out[part, a:b] = weights.bmm(v[part, each.low : each.high]).div_(total)
    result = unfold(out, rows, queries).transpose(1, 2)
    return result, unfold(lse, rows, queries).squeeze(-1).transpose(1, 2)


def chunked_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    d_out: Tensor | None,
    d_lse: Tensor | None,
    plan: Chunked,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of ``q``, ``k`` and ``v``, from those of the output and the log-sum-exp."""
    rows, heads, queries, _ = q.shape
    kv_heads, keys = k.shape[1:3]
    group = heads // kv_heads
    if d_out is None:
        d_out = torch.zeros_like(out)
    delta = (d_out * out).sum(-1)  # [B, H, Tq]
    if d_lse is not None:
        delta -= d_lse
    if plan.starts is not None:
        lse = lse.masked_fill(lse == -torch.inf, 0.0)
    q, k, v, g, d, m = (
        fold(x.transpose(1, 2), kv_heads)
        for x in (q, k, v, d_out, delta.neg_()[..., None], lse.neg()[..., None])
    )
    q = q * plan.scale
    d_q, d_k, d_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for each in chunks(queries, keys, heads, plan.window):
        a, b = each.first * group, each.last * group
        for some, part in _parts(rows, kv_heads, (b - a) * (each.high - each.low)):
            some_k, some_v = k[part, each.low : each.high], v[part, each.low : each.high]
            some_q, some_g = q[part, a:b], g[part, a:b]
            scores, slope = _scores(some_q, some_k, each, plan, some, m[part, a:b])
            weights = scores.exp_()
            d_v[part, each.low : each.high].baddbmm_(weights.transpose(1, 2), some_g)
            change = torch.baddbmm(d[part, a:b], some_g, some_v.transpose(1, 2)).mul_(weights)
            if slope is not None:
                change.mul_(slope)
            d_q[part, a:b] = change.bmm(some_k).mul_(plan.scale)
            d_k[part, each.low : each.high].baddbmm_(change.transpose(1, 2), some_q)
    return (
        unfold(d_q, rows, queries).transpose(1, 2),
        unfold(d_k, rows, keys).transpose(1, 2),
        unfold(d_v, rows, keys).transpose(1, 2),
    )


def _parts(rows: int, kv_heads: int, scores: int) -> Iterator[tuple[slice, slice]]:
    """Rows, and folded rows, as many as are worked through together."""
    step = max(1, NEAR_SCORES // (kv_heads * scores))
    for first in range(0, rows, step):
        last = min(first + step, rows)
        yield slice(first, last), slice(first * kv_heads, last * kv_heads)


def _scores(
    q: Tensor,
    k: Tensor,
    chunk: Chunk,
    plan: Chunked,
    rows: slice,
    shift: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """``[b * K, c * G, n]`` plus ``shift [b * K, c * G, 1]``, -inf where hidden; with a cap also
    its slope."""
    slope = None
    if plan.softcap is not None:
        bent = q.bmm(k.transpose(1, 2)).div_(plan.softcap).tanh_()
        slope = bent.square().neg_().add_(1.0)
        scores = bent.mul_(plan.softcap)
        scores = scores if shift is None else scores.add_(shift)
    elif shift is None:
        scores = q.bmm(k.transpose(1, 2))
    else:
        scores = torch.baddbmm(shift, q, k.transpose(1, 2))
    count = chunk.last - chunk.first
    group = q.shape[1] // count
    scores[..., -count:] += _staircase(count, group, count, 1, False, q.dtype, q.device)
    if plan.window is not None:
        # Of the keys from low on, a query sees none up to its own place less the window.
        offset = chunk.place - plan.window - chunk.low
        if offset + count > 0:
            columns = offset + count
            scores[..., :columns] += _staircase(
                count, group, columns, offset, True, q.dtype, q.device
            )
    if plan.starts is not None:
        key = torch.arange(chunk.low, chunk.high, device=q.device)
        hidden = key < plan.starts[rows, chunk.first : chunk.last, None]  # [b, c, n]
        # Key/value heads go with the rows, and a group's heads with the queries.
        wide = scores.view(len(hidden), -1, count, group, len(key))
        wide.masked_fill_(hidden[:, None, :, None], -torch.inf)
    return scores, slope


@lru_cache(maxsize=64)
def _staircase(
    queries: int,
    group: int,
    keys: int,
    offset: int,
    below: bool,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    """``[queries * group, keys]``: -inf where key >= query + offset (``below``: <=), else 0."""
    query = torch.arange(queries, device=device).repeat_interleave(group)[:, None] + offset
    key = torch.arange(keys, device=device)
    hidden = key <= query if below else key >= query
    return torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, -torch.inf)
