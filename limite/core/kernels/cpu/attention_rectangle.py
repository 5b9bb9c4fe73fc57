"""Attention over short rows of one length: batched products over the heads as they lie.

Where torch's own operator does not serve: with a cap, or where the log-sum-exp is asked for.
Weights are kept for the backward pass, ``B H T T``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import attrs
import torch
from torch import Tensor

from limite.core.kernels.cpu.attention_short import NEAR_SCORES, bias, unweigh, weigh


@attrs.define(eq=False)
class Rectangle:
    """What shapes the computation, apart from the tensors."""

    bias: Tensor  # [G * Tq, Tk], 0 where visible, else -inf
    scale: float
    softcap: float | None


@lru_cache(maxsize=16)
def rectangle_bias(
    queries: int,
    keys: int,
    window: int | None,
    group: int,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    """What is added to scores: that of one head, for each head of a group."""
    with torch.inference_mode(False):  # it outlives the caller's mode
        return bias(queries, keys, window, 1, dtype, device).repeat(group, 1)


def rectangle_forward(
    q: Tensor, k: Tensor, v: Tensor, way: Rectangle, need_lse: bool
) -> tuple[Tensor, Tensor | None, list[Tensor]]:
    """Output and log-sum-exp of ``[B, heads, T, D]``, and what the backward pass reads."""
    batch, heads, queries, width = q.shape
    _, kv_heads, keys, _ = k.shape
    count, rows = batch * kv_heads, queries * (heads // kv_heads)
    q = q.reshape(count, rows, width)  # [B * K, G * Tq, D]
    k = k.reshape(count, keys, width)  # [B * K, Tk, D]
    v = v.reshape(count, keys, width)
    if count * rows * keys <= NEAR_SCORES:
        out, lse, kept = _piece_forward(q, k, v, way, need_lse)
    else:
        near = max(1, NEAR_SCORES // (rows * keys))
        kept, outs, sums = [], [], []
        for piece in zip(q.split(near), k.split(near), v.split(near), strict=True):
            some_out, some_lse, some_kept = _piece_forward(*piece, way, need_lse)
            kept += some_kept
            outs.append(some_out)
            if some_lse is not None:
                sums.append(some_lse)
        out, lse = torch.cat(outs), torch.cat(sums) if sums else None
    return (
        out.view(batch, heads, queries, width),
        None if lse is None else lse.view(batch, heads, queries),
        kept,
    )


def _piece_forward(
    q: Tensor, k: Tensor, v: Tensor, way: Rectangle, need_lse: bool
) -> tuple[Tensor, Tensor | None, list[Tensor]]:
    weights, lse, slope = weigh(q, k, way.bias, way.scale, way.softcap, need_lse)
    out = torch.bmm(weights, v)
    return out, lse, [q, k, v, weights, out] if slope is None else [q, k, v, weights, out, slope]


def rectangle_backward(
    kept: Sequence[Tensor],
    d_out: Tensor | None,
    d_lse: Tensor | None,
    way: Rectangle,
    kv_heads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of ``q``, ``k`` and ``v``, which have ``kv_heads``."""
    upstream = d_out if d_out is not None else d_lse
    assert upstream is not None
    batch, heads, queries = upstream.shape[:3]
    each = 5 if way.softcap is None else 6
    found: tuple[list[Tensor], ...] = ([], [], [])
    first = 0
    for place in range(0, len(kept), each):
        q, k, v, weights, out, *slope = kept[place : place + each]
        part = slice(first, first + len(q))
        first += len(q)
        g = h = None
        if d_out is not None:
            g = d_out.reshape(batch * kv_heads, -1, out.shape[2])[part]
        if d_lse is not None:
            h = d_lse.reshape(batch * kv_heads, -1, 1)[part]
        g = torch.zeros_like(out) if g is None else g
        d_scores = unweigh(weights, slope[0] if slope else None, out, v, g, h)
        found[0].append(torch.bmm(d_scores, k).mul_(way.scale))
        found[1].append(torch.bmm(d_scores.transpose(1, 2), q).mul_(way.scale))
        found[2].append(torch.bmm(weights.transpose(1, 2), g))
    d_q, d_k, d_v = (parts[0] if len(parts) == 1 else torch.cat(parts) for parts in found)
    keys, width = d_k.shape[1:]
    return (
        d_q.view(batch, heads, queries, width),
        d_k.view(batch, kv_heads, keys, width),
        d_v.view(batch, kv_heads, keys, width),
    )
