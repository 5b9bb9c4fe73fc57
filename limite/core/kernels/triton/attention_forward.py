"""Attention's forward kernel: a tile of queries, the keys it sees a tile at a time."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.attention_scores import (
    MASKED,
    Rule,
    first_visible,
    key_range,
    scores,
)
from limite.core.kernels.triton.views import strides_of

LN_2 = tl.constexpr(runtime.LN_2)


@triton.jit
def _visit(
    sums, total, highest, queries, places, begin, k, v, starts, k_token, v_token,
    low, high, left, gap, Tk, factor, inner,
    BN: tl.constexpr, D: tl.constexpr, DT: tl.constexpr,
    BOUNDED: tl.constexpr, PADDED: tl.constexpr, CAPPED: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    """Adds the keys from ``low`` to ``high`` to the running softmax of a tile of queries.

    With ``MASK`` there is a gap, where full tiles lie: ``left`` is its beginning.
    """
    columns = tl.arange(0, D)
    ahead = tl.arange(0, BN)
    for order in range(low, high, BN):
        first = order
        if MASK:
            first = tl.where(order < left, order, order + gap)
        step = tl.cast(first, tl.int64)
        k_tile = k + step * k_token + ahead[:, None] * k_token + columns[None, :]
        v_tile = v + step * v_token + ahead[:, None] * v_token + columns[None, :]
        keys = first + ahead
        if MASK:
            there = keys < Tk
            if PADDED:
                there = tl.load(starts + keys, mask=there, other=Tk) < Tk
            key = tl.load(k_tile, mask=there[:, None], other=0.0).to(DT)
        else:
            key = tl.load(k_tile).to(DT)
        score = scores(queries, key, inner, CAPPED)  # [BM, BN]
        if MASK:
            seen = keys[None, :] <= places[:, None]
            if BOUNDED:
                seen = seen & (keys[None, :] >= begin[:, None])
            score = tl.where(seen, score, MASKED)
        higher = tl.maximum(highest, tl.max(score, 1) * factor)
        weight = tl.exp2(score * factor - higher[:, None])
        if MASK:
            weight = tl.where(seen, weight, 0.0)
        rescale = tl.exp2(highest - higher)
        total = total * rescale + tl.sum(weight, 1)
        if MASK:
            value = tl.load(v_tile, mask=there[:, None], other=0.0).to(DT)
        else:
            value = tl.load(v_tile).to(DT)
        sums = tl.dot(weight.to(DT), value, sums * rescale[:, None], input_precision="ieee")
        highest = higher
    return sums, total, highest


@triton.jit(do_not_specialize=["Tq", "Tk", "window"])
def attention_forward_kernel(
    q, k, v, out, lse, starts,
    q_batch, q_head, q_token, k_batch, k_head, k_token,
    v_batch, v_head, v_token, out_batch, out_head, out_token,
    H, G, Tq, Tk, window, factor, inner,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, DT: tl.constexpr,
    WINDOWED: tl.constexpr, SEGMENTED: tl.constexpr, PADDED: tl.constexpr, CAPPED: tl.constexpr,
):  # fmt: skip
    factor = tl.cast(factor, tl.float32)
    inner = tl.cast(inner, tl.float32)
    program = tl.program_id(0)
    tiles = tl.cdiv(Tq, BM)
    first = (tiles - 1 - program % tiles) * BM  # later queries see more keys: they start first
    row = program // tiles
    batch = tl.cast(row // H, tl.int64)
    head = row % H
    kv_head = tl.cast(head // G, tl.int64)
    head = tl.cast(head, tl.int64)
    ahead = tl.arange(0, BM)
    columns = tl.arange(0, D)
    inside = first + ahead < Tq
    place = first + Tk - Tq  # of the first query among the keys' tokens
    places = place + ahead
    if SEGMENTED:
        starts += batch * Tk
    begin = first_visible(starts, places, inside, Tk, window, WINDOWED, SEGMENTED)
    real = inside
    if PADDED:
        real = begin < Tk
    step = tl.cast(first, tl.int64)
    q += batch * q_batch + head * q_head + step * q_token
    queries = tl.load(
        q + ahead[:, None] * q_token + columns[None, :], mask=real[:, None], other=0.0
    ).to(DT)  # [BM, D]
    k += batch * k_batch + kv_head * k_head
    v += batch * v_batch + kv_head * v_head
    BOUNDED: tl.constexpr = WINDOWED | SEGMENTED
    low, left, right, high = key_range(place, begin, Tk, BM, BN, BOUNDED)
    gap = right - left
    sums = tl.zeros([BM, D], tl.float32)
    total = tl.zeros([BM], tl.float32)
    highest = tl.full([BM], MASKED, tl.float32)  # of all scores so far, in bits
    sums, total, highest = _visit(
        sums, total, highest, queries, places, begin, k, v, starts, k_token, v_token,
        left, right, left, 0, Tk, factor, inner,
        BN, D, DT, BOUNDED, PADDED, CAPPED, False,
    )  # fmt: skip
    sums, total, highest = _visit(
        sums, total, highest, queries, places, begin, k, v, starts, k_token, v_token,
        low, high - gap, left, gap, Tk, factor, inner,
        BN, D, DT, BOUNDED, PADDED, CAPPED, True,
    )  # fmt: skip
    blind = total == 0.0
    total = tl.where(blind, 1.0, total)
    out += batch * out_batch + head * out_head + step * out_token
    tl.store(
        out + ahead[:, None] * out_token + columns[None, :],
        (sums / total[:, None]).to(out.dtype.element_ty),
        mask=inside[:, None],
    )
    natural = tl.where(blind, float("-inf"), (highest + tl.log2(total)) * LN_2)
    tl.store(lse + (batch * H + head) * Tq + first + ahead, natural, mask=inside)


def attention_forward(
    q: Tensor, k: Tensor, v: Tensor, rule: Rule, tile: Tile
) -> tuple[Tensor, Tensor]:
    """The output ``[B, H, Tq, D]`` and the natural log-sum-exp ``[B, H, Tq]`` in float32."""
    batch, heads, queries, width = q.shape
    memory = (batch, queries, heads, width)  # so that heads can be joined without a copy
    out = runtime.empty(memory, runtime.storage_dtype(q.dtype), q.device).transpose(1, 2)
    lse = runtime.empty((batch, heads, queries), torch.float32, q.device)
    programs = runtime.cdiv(queries, tile["BM"]) * heads * batch
    if programs:
        attention_forward_kernel[(programs,)](
            q, k, v, out, lse, None if rule.rows is None else rule.rows.starts,
            *strides_of(q, k, v, out),
            heads, heads // k.shape[1], queries, k.shape[2], rule.window or 0, *rule.factors,
            BM=tile["BM"], BN=tile["BN"], D=width, DT=runtime.dot_dtype(q.dtype),
            **rule.constants, **runtime.options(tile),
        )  # fmt: skip
    return runtime.rounded(out, q.dtype), lse
