"""Attention's backward kernels: one for a tile of queries, one for a tile of keys; no atomics."""

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

LOG2_E = tl.constexpr(runtime.LOG2_E)


@triton.jit
def _gradient_of_scores(
    score, seen, lse, delta, pull, factor, CAPPED: tl.constexpr, MASK: tl.constexpr
):
    """The weights, and what flows back into the scores: ``p`` and ``p (dp - delta)``, with a cap
    times ``1 - tanh^2``. ``lse`` is in bits; ``pull`` is ``dp``."""
    exponent = score * factor - lse
    if MASK:
        exponent = tl.where(seen, exponent, MASKED)
    weight = tl.exp2(exponent)
    flow = weight * (pull - delta)
    if CAPPED:
        flow = flow * (1.0 - score * score)
    return weight, flow


@triton.jit
def _visit_keys(
    dq, queries, pulls, lse, delta, places, begin, k, v, starts, k_token, v_token,
    low, high, left, gap, Tk, factor, inner,
    BN: tl.constexpr, D: tl.constexpr, DT: tl.constexpr,
    BOUNDED: tl.constexpr, PADDED: tl.constexpr, CAPPED: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    """Adds what a tile of queries gets through the keys from ``low`` to ``high``.

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
        seen = True
        if MASK:
            there = keys < Tk
            if PADDED:
                there = tl.load(starts + keys, mask=there, other=Tk) < Tk
            key = tl.load(k_tile, mask=there[:, None], other=0.0).to(DT)
            value = tl.load(v_tile, mask=there[:, None], other=0.0).to(DT)
            seen = keys[None, :] <= places[:, None]
            if BOUNDED:
                seen = seen & (keys[None, :] >= begin[:, None])
        else:
            key = tl.load(k_tile).to(DT)
            value = tl.load(v_tile).to(DT)
        score = scores(queries, key, inner, CAPPED)  # [BM, BN]
        pull = tl.dot(pulls, tl.trans(value), input_precision="ieee")
        _, flow = _gradient_of_scores(
            score, seen, lse[:, None], delta[:, None], pull, factor, CAPPED, MASK
        )
        dq = tl.dot(flow.to(DT), key, dq, input_precision="ieee")
    return dq


@triton.jit(do_not_specialize=["Tq", "Tk", "window"])
def attention_backward_dq_kernel(
    q, k, v, out, dout, lse, dlse, dq, delta, starts,
    q_batch, q_head, q_token, k_batch, k_head, k_token, v_batch, v_head, v_token,
    out_batch, out_head, out_token, dout_batch, dout_head, dout_token,
    dlse_batch, dlse_head, dlse_token, dq_batch, dq_head, dq_token,
    H, G, Tq, Tk, window, factor, inner, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, DT: tl.constexpr,
    WINDOWED: tl.constexpr, SEGMENTED: tl.constexpr, PADDED: tl.constexpr, CAPPED: tl.constexpr,
    LSE: tl.constexpr,
):  # fmt: skip
    factor = tl.cast(factor, tl.float32)
    inner = tl.cast(inner, tl.float32)
    scale = tl.cast(scale, tl.float32)
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
    there = real[:, None]
    q += batch * q_batch + head * q_head + step * q_token
    out += batch * out_batch + head * out_head + step * out_token
    dout += batch * dout_batch + head * dout_head + step * dout_token
    outputs = tl.load(out + ahead[:, None] * out_token + columns[None, :], mask=there, other=0.0)
    pulls = tl.load(dout + ahead[:, None] * dout_token + columns[None, :], mask=there, other=0.0)
    differences = tl.sum(outputs.to(tl.float32) * pulls.to(tl.float32), 1)  # [BM]
    if LSE:
        dlse += batch * dlse_batch + head * dlse_head + step * dlse_token
        differences -= tl.load(dlse + ahead * dlse_token, mask=real, other=0.0)
    line = (batch * H + head) * Tq + first
    tl.store(delta + line + ahead, differences, mask=inside)
    bits = tl.load(lse + line + ahead, mask=real, other=0.0) * LOG2_E
    queries = tl.load(q + ahead[:, None] * q_token + columns[None, :], mask=there, other=0.0)
    queries = queries.to(DT)
    pulls = pulls.to(DT)
    k += batch * k_batch + kv_head * k_head
    v += batch * v_batch + kv_head * v_head
    BOUNDED: tl.constexpr = WINDOWED | SEGMENTED
    low, left, right, high = key_range(place, begin, Tk, BM, BN, BOUNDED)
    gap = right - left
    sums = tl.zeros([BM, D], tl.float32)
    sums = _visit_keys(
        sums, queries, pulls, bits, differences, places, begin, k, v, starts, k_token, v_token,
        left, right, left, 0, Tk, factor, inner,
        BN, D, DT, BOUNDED, PADDED, CAPPED, False,
    )  # fmt: skip
    sums = _visit_keys(
        sums, queries, pulls, bits, differences, places, begin, k, v, starts, k_token, v_token,
        low, high - gap, left, gap, Tk, factor, inner,
        BN, D, DT, BOUNDED, PADDED, CAPPED, True,
    )  # fmt: skip
    dq += batch * dq_batch + head * dq_head + step * dq_token
    tl.store(
        dq + ahead[:, None] * dq_token + columns[None, :],
        (sums * scale).to(dq.dtype.element_ty),
        mask=inside[:, None],
    )


@triton.jit
def _visit_queries(
    dk, dv, key, value, keys, limits, q, dout, lse, delta, starts, q_token, dout_token,
    low, high, left, gap, Tq, Tk, factor, inner,
    BM: tl.constexpr, D: tl.constexpr, DT: tl.constexpr,
    BOUNDED: tl.constexpr, PADDED: tl.constexpr, CAPPED: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    """Adds what a tile of keys gets from the queries at places ``low`` to ``high``, of one head.

    With ``MASK`` there is a gap, where full tiles lie: ``left`` is its beginning.
    All tiles lie on their side, ``[BN, BM]``: the sums over queries are then products.
    """
    columns = tl.arange(0, D)
    ahead = tl.arange(0, BM)
    for order in range(low, high, BM):
        place = order
        if MASK:
            place = tl.where(order < left, order, order + gap)
        first = place + Tq - Tk
        step = tl.cast(first, tl.int64)
        q_tile = q + step * q_token + ahead[:, None] * q_token + columns[None, :]
        dout_tile = dout + step * dout_token + ahead[:, None] * dout_token + columns[None, :]
        seen = True
        if MASK:
            inside = first + ahead < Tq
            if PADDED:
                inside = tl.load(starts + place + ahead, mask=inside, other=Tk) < Tk
            queries = tl.load(q_tile, mask=inside[:, None], other=0.0).to(DT)
            pulls = tl.load(dout_tile, mask=inside[:, None], other=0.0).to(DT)
            bits = tl.load(lse + first + ahead, mask=inside, other=0.0) * LOG2_E
            differences = tl.load(delta + first + ahead, mask=inside, other=0.0)
            places = place + ahead
            seen = places[None, :] >= keys[:, None]
            if BOUNDED:
                seen = seen & (places[None, :] < limits[:, None])
        else:
            queries = tl.load(q_tile).to(DT)
            pulls = tl.load(dout_tile).to(DT)
            bits = tl.load(lse + first + ahead) * LOG2_E
            differences = tl.load(delta + first + ahead)
        score = scores(key, queries, inner, CAPPED)  # [BN, BM]
        pull = tl.dot(value, tl.trans(pulls), input_precision="ieee")
        weight, flow = _gradient_of_scores(
            score, seen, bits[None, :], differences[None, :], pull, factor, CAPPED, MASK
        )
        dv = tl.dot(weight.to(DT), pulls, dv, input_precision="ieee")
        dk = tl.dot(flow.to(DT), queries, dk, input_precision="ieee")
    return dk, dv


@triton.jit(do_not_specialize=["Tq", "Tk", "window"])
def attention_backward_dkv_kernel(
    q, k, v, dout, lse, delta, dk, dv, starts, ends,
    q_batch, q_head, q_token, k_batch, k_head, k_token, v_batch, v_head, v_token,
    dout_batch, dout_head, dout_token, dk_batch, dk_head, dk_token, dv_batch, dv_head, dv_token,
    K, G, Tq, Tk, window, factor, inner, scale,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, DT: tl.constexpr,
    WINDOWED: tl.constexpr, SEGMENTED: tl.constexpr, PADDED: tl.constexpr, CAPPED: tl.constexpr,
):  # fmt: skip
    factor = tl.cast(factor, tl.float32)
    inner = tl.cast(inner, tl.float32)
    scale = tl.cast(scale, tl.float32)
    program = tl.program_id(0)
    tiles = tl.cdiv(Tk, BN)
    first = (program % tiles) * BN  # earlier keys are seen by more queries: they start first
    row = program // tiles
    batch = tl.cast(row // K, tl.int64)
    kv_head = tl.cast(row % K, tl.int64)
    ahead = tl.arange(0, BN)
    columns = tl.arange(0, D)
    keys = first + ahead
    inside = keys < Tk
    real = inside
    limits = tl.zeros_like(keys) + Tk  # beyond the last query that sees the key
    if WINDOWED:
        limits = tl.minimum(limits, keys + window)
    if SEGMENTED:
        starts += batch * Tk
        row_ends = tl.load(ends + batch * Tk + keys, mask=inside, other=0)
        limits = tl.minimum(limits, row_ends)
        real = row_ends > 0
    BOUNDED: tl.constexpr = WINDOWED | SEGMENTED
    low = tl.maximum(first, Tk - Tq)
    full = first + BN - 1  # from here on queries come after all keys of the tile,
    end = tl.min(limits, 0)  # and up to here all of them are visible to them
    high = tl.max(limits, 0)
    before = tl.minimum(tl.maximum(full - low, 0), tl.maximum(high - low, 0))
    left = low + (before + BM - 1) // BM * BM
    right = left + tl.maximum(end - left, 0) // BM * BM
    step = tl.cast(first, tl.int64)
    there = real[:, None]
    k += batch * k_batch + kv_head * k_head + step * k_token
    v += batch * v_batch + kv_head * v_head + step * v_token
    key = tl.load(k + ahead[:, None] * k_token + columns[None, :], mask=there, other=0.0).to(DT)
    value = tl.load(v + ahead[:, None] * v_token + columns[None, :], mask=there, other=0.0).to(DT)
    gap = right - left
    dk_sums = tl.zeros([BN, D], tl.float32)
    dv_sums = tl.zeros([BN, D], tl.float32)
    for member in range(G):
        head = kv_head * G + member
        q_rows = q + batch * q_batch + head * q_head
        dout_rows = dout + batch * dout_batch + head * dout_head
        lse_rows = lse + ((batch * K + kv_head) * G + member) * Tq
        delta_rows = delta + ((batch * K + kv_head) * G + member) * Tq
        dk_sums, dv_sums = _visit_queries(
            dk_sums, dv_sums, key, value, keys, limits, q_rows, dout_rows, lse_rows,
            delta_rows, starts, q_token, dout_token,
            left, right, left, 0, Tq, Tk, factor, inner,
            BM, D, DT, BOUNDED, PADDED, CAPPED, False,
        )  # fmt: skip
        dk_sums, dv_sums = _visit_queries(
            dk_sums, dv_sums, key, value, keys, limits, q_rows, dout_rows, lse_rows,
            delta_rows, starts, q_token, dout_token,
            low, high - gap, left, gap, Tq, Tk, factor, inner,
            BM, D, DT, BOUNDED, PADDED, CAPPED, True,
        )  # fmt: skip
    dk += batch * dk_batch + kv_head * dk_head + step * dk_token
    dv += batch * dv_batch + kv_head * dv_head + step * dv_token
    tl.store(
        dk + ahead[:, None] * dk_token + columns[None, :],
        (dk_sums * scale).to(dk.dtype.element_ty),
        mask=inside[:, None],
    )
    tl.store(
        dv + ahead[:, None] * dv_token + columns[None, :],
        dv_sums.to(dv.dtype.element_ty),
        mask=inside[:, None],
    )


def attention_backward(
    dout: Tensor,
    dlse: Tensor | None,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    rule: Rule,
    dq_tile: Tile,
    dkv_tile: Tile,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of ``q``, ``k`` and ``v``, from those of the output and the log-sum-exp.

    The latter enters as ``delta - dlse``, ``delta`` being ``sum_d out dout`` for each query.
    """
    batch, heads, queries, width = q.shape
    kv_heads, keys = k.shape[1:3]
    group = heads // kv_heads
    dtype, device = runtime.storage_dtype(q.dtype), q.device
    dq = runtime.empty((batch, queries, heads, width), dtype, device).transpose(1, 2)
    dk = runtime.empty((batch, keys, kv_heads, width), dtype, device).transpose(1, 2)
    dv = runtime.empty((batch, keys, kv_heads, width), dtype, device).transpose(1, 2)
    delta = runtime.empty((batch, heads, queries), torch.float32, device)
    starts, ends = (None, None) if rule.rows is None else (rule.rows.starts, rule.rows.ends)
    numbers = (group, queries, keys, rule.window or 0, *rule.factors, rule.scale)
    constants = {"D": width, "DT": runtime.dot_dtype(q.dtype), **rule.constants}
    programs = runtime.cdiv(queries, dq_tile["BM"]) * heads * batch
    if programs:
        attention_backward_dq_kernel[(programs,)](
            q, k, v, out, dout, lse, dlse, dq, delta, starts,
            *strides_of(q, k, v, out, dout), *((0, 0, 0) if dlse is None else dlse.stride()),
            *strides_of(dq), heads, *numbers,
            BM=dq_tile["BM"], BN=dq_tile["BN"], LSE=dlse is not None,
            **constants, **runtime.options(dq_tile),
        )  # fmt: skip
    programs = runtime.cdiv(keys, dkv_tile["BN"]) * kv_heads * batch
    if programs:
        attention_backward_dkv_kernel[(programs,)](
            q, k, v, dout, lse, delta, dk, dv, starts, ends,
            *strides_of(q, k, v, dout, dk, dv), kv_heads, *numbers,
            BM=dkv_tile["BM"], BN=dkv_tile["BN"],
            **constants, **runtime.options(dkv_tile),
        )  # fmt: skip
    dtype = q.dtype
    return runtime.rounded(dq, dtype), runtime.rounded(dk, dtype), runtime.rounded(dv, dtype)
