"""The kernels of 2-simplicial attention: forward, and backward for queries and for keys.

A tile has ``R`` rows, each a query position and one of ``GH`` query heads that share a key/value
head: row r is position ``r // GH``, head ``r % GH`` of the tile. So rows are full for few and for
many heads per group. Of the two streams one is tiled by ``BN`` keys and meets the rows in a matrix
product; the other, here called single, is gone through one key at a time, each multiplied onto
the rows. Tiles and loops cover the positions that a tile of queries can see, no others.
"""

from __future__ import annotations

import triton
import triton.language as tl

from limite.core.kernels.triton import runtime

MASKED = tl.constexpr(runtime.MASKED)
LOG2_E = tl.constexpr(runtime.LOG2_E)
LN_2 = tl.constexpr(runtime.LN_2)


@triton.jit
def rows_of(tile, part, starts_ptr, Tq, Tk, WS, WT,
            G: tl.constexpr, GH: tl.constexpr, R: tl.constexpr,
            SEGMENTED: tl.constexpr):  # fmt: skip
    # For each row: query, head of the group, position, the first positions seen of the single and
    # the tiled stream, whether there is such a row, and whether it is more than padding. For all:
    # the first position of a row of tokens, and the positions of the first and the last query.
    row = tl.arange(0, R)
    query = tile * (R // GH) + row // GH
    head = part * GH + row % GH
    inside = (row < R // GH * GH) & (head < G) & (query < Tq)
    at = query + (Tk - Tq)
    begin = at * 0
    first = 0
    if SEGMENTED:
        begin = tl.load(starts_ptr + at, mask=inside, other=Tk)
        first = tl.min(begin, 0)
    lowest = tile * (R // GH) + (Tk - Tq)
    highest = tl.minimum(lowest + R // GH, Tk) - 1
    there = inside & (begin < Tk)
    from_s = tl.maximum(begin, at - WS + 1)
    from_t = tl.where(there, tl.maximum(begin, at - WT + 1), Tk)
    return query, head, at, from_s, from_t, inside, there, first, lowest, highest


@triton.jit(do_not_specialize=["Tq", "Tk", "WS", "WT"])
def simplicial_forward(
    q_ptr, ks_ptr, vs_ptr, kt_ptr, vt_ptr, starts_ptr, out_ptr, lse_ptr,
    q_b, q_h, q_t, ks_b, ks_h, ks_t, vs_b, vs_h, vs_t, kt_b, kt_h, kt_t, vt_b, vt_h, vt_t,
    scale, K, Tq, Tk, WS, WT,
    G: tl.constexpr, GH: tl.constexpr, D: tl.constexpr, R: tl.constexpr, BN: tl.constexpr,
    DT: tl.constexpr, SEGMENTED: tl.constexpr,
):  # fmt: skip
    # s: the single stream, with window WS; t: the tiled one, with window WT.
    tiles = tl.cdiv(Tq, R // GH)
    parts = tl.cdiv(G, GH)
    tile = tl.program_id(0) % tiles
    rest = tl.program_id(0) // tiles
    part = rest % parts
    kv_head = rest // parts % K
    batch = (rest // parts // K).to(tl.int64)
    starts_ptr += batch * Tk
    query, head, at, from_s, from_t, inside, there, first, lowest, highest = rows_of(
        tile, part, starts_ptr, Tq, Tk, WS, WT, G, GH, R, SEGMENTED
    )
    channel = tl.arange(0, D)
    head = (kv_head * G + head).to(tl.int64)
    kv_head = kv_head.to(tl.int64)
    long_query = query.to(tl.int64)
    q = tl.load(
        q_ptr + batch * q_b + (head * q_h + long_query * q_t)[:, None] + channel,
        mask=there[:, None], other=0.0,
    )  # fmt: skip
    q = q.to(DT)
    ks_ptr += batch * ks_b + kv_head * ks_h
    vs_ptr += batch * vs_b + kv_head * vs_h
    kt_ptr += batch * kt_b + kv_head * kt_h
    vt_ptr += batch * vt_b + kv_head * vt_h
    scale = tl.full((), scale, tl.float32) * LOG2_E
    most = tl.full((R,), MASKED, tl.float32)  # in base-2 units, as all scores
    total = tl.zeros((R,), tl.float32)
    acc = tl.zeros((R, D), tl.float32)
    single_from = tl.maximum(lowest - WS + 1, first)
    for n0 in range(tl.maximum(lowest - WT + 1, first), highest + 1, BN):
        n = n0 + tl.arange(0, BN)
        real = n <= highest
        long_n = n.to(tl.int64)
        k = tl.load(
            kt_ptr + (long_n * kt_t)[None, :] + channel[:, None], mask=real[None, :], other=0.0
        ).to(DT)  # [D, BN]
        v = tl.load(vt_ptr + (long_n * vt_t)[:, None] + channel, mask=real[:, None], other=0.0).to(
            DT
        )  # [BN, D]
        for j in range(single_from, highest + 1):
            long_j = tl.full((), j, tl.int64)
            k_j = tl.load(ks_ptr + long_j * ks_t + channel).to(DT)
            v_j = tl.load(vs_ptr + long_j * vs_t + channel).to(DT)
            score = tl.dot(q * k_j[None, :], k, input_precision="ieee") * scale
            seen = (n[None, :] >= from_t[:, None]) & (n[None, :] <= at[:, None])
            seen = seen & ((j <= at) & (j >= from_s))[:, None]
            score = tl.where(seen, score, MASKED)
            higher = tl.maximum(most, tl.max(score, 1))
            shrink = tl.exp2(most - higher)
            p = tl.where(seen, tl.exp2(score - higher[:, None]), 0.0)
            total = total * shrink + tl.sum(p, 1)
            inner = tl.dot(p.to(DT), v, input_precision="ieee")
            acc = acc * shrink[:, None] + inner * v_j.to(tl.float32)[None, :]
            most = higher
    # A row that sees nothing has total 0; one that has met NaN has total NaN.
    nothing = total == 0.0
    total = tl.where(nothing, 1.0, total)
    lse = tl.where(nothing, float("-inf"), (most + tl.log2(total)) * LN_2)
    place = (batch * K * G + head) * Tq + query
    tl.store(out_ptr + place[:, None] * D + channel, acc / total[:, None], mask=inside[:, None])
    tl.store(lse_ptr + place, lse, mask=inside)


@triton.jit(do_not_specialize=["Tq", "Tk", "WS", "WT"])
def simplicial_backward_dq(
    q_ptr, ks_ptr, vs_ptr, kt_ptr, vt_ptr, starts_ptr,
    out_ptr, lse_ptr, do_ptr, dlse_ptr, delta_ptr, dq_ptr,
    q_b, q_h, q_t, ks_b, ks_h, ks_t, vs_b, vs_h, vs_t, kt_b, kt_h, kt_t, vt_b, vt_h, vt_t,
    do_b, do_h, do_t, scale, K, Tq, Tk, WS, WT,
    G: tl.constexpr, GH: tl.constexpr, D: tl.constexpr, R: tl.constexpr, BN: tl.constexpr,
    DT: tl.constexpr, SEGMENTED: tl.constexpr, DLSE: tl.constexpr,
):  # fmt: skip
    # As the forward pass. Also leaves delta = sum_d out do - dlse for the other kernel.
    tiles = tl.cdiv(Tq, R // GH)
    parts = tl.cdiv(G, GH)
    tile = tl.program_id(0) % tiles
    rest = tl.program_id(0) // tiles
    part = rest % parts
    kv_head = rest // parts % K
    batch = (rest // parts // K).to(tl.int64)
    starts_ptr += batch * Tk
    query, head, at, from_s, from_t, inside, there, first, lowest, highest = rows_of(
        tile, part, starts_ptr, Tq, Tk, WS, WT, G, GH, R, SEGMENTED
    )
    channel = tl.arange(0, D)
    head = (kv_head * G + head).to(tl.int64)
    kv_head = kv_head.to(tl.int64)
    long_query = query.to(tl.int64)
    place = (batch * K * G + head) * Tq + query
    q = tl.load(
        q_ptr + batch * q_b + (head * q_h + long_query * q_t)[:, None] + channel,
        mask=there[:, None], other=0.0,
    ).to(DT)  # fmt: skip
    do = tl.load(
        do_ptr + batch * do_b + (head * do_h + long_query * do_t)[:, None] + channel,
        mask=there[:, None], other=0.0,
    ).to(DT)  # fmt: skip
    out = tl.load(out_ptr + place[:, None] * D + channel, mask=there[:, None], other=0.0)
    delta = tl.sum(out.to(tl.float32) * do.to(tl.float32), 1)
    if DLSE:
        delta = delta - tl.load(dlse_ptr + place, mask=there, other=0.0)
    tl.store(delta_ptr + place, delta, mask=inside)
    lse = tl.load(lse_ptr + place, mask=there, other=0.0) * LOG2_E
    ks_ptr += batch * ks_b + kv_head * ks_h
    vs_ptr += batch * vs_b + kv_head * vs_h
    kt_ptr += batch * kt_b + kv_head * kt_h
    vt_ptr += batch * vt_b + kv_head * vt_h
    scale = tl.full((), scale, tl.float32)
    acc = tl.zeros((R, D), tl.float32)
    single_from = tl.maximum(lowest - WS + 1, first)
    for n0 in range(tl.maximum(lowest - WT + 1, first), highest + 1, BN):
        n = n0 + tl.arange(0, BN)
        real = n <= highest
        long_n = n.to(tl.int64)
        k = tl.load(kt_ptr + (long_n * kt_t)[:, None] + channel, mask=real[:, None], other=0.0).to(
            DT
        )  # [BN, D]
        v = tl.load(
            vt_ptr + (long_n * vt_t)[None, :] + channel[:, None], mask=real[None, :], other=0.0
        ).to(DT)  # [D, BN]
        for j in range(single_from, highest + 1):
            long_j = tl.full((), j, tl.int64)
            k_j = tl.load(ks_ptr + long_j * ks_t + channel).to(DT)
            v_j = tl.load(vs_ptr + long_j * vs_t + channel).to(DT)
            score = tl.dot(q * k_j[None, :], tl.trans(k), input_precision="ieee")
            seen = (n[None, :] >= from_t[:, None]) & (n[None, :] <= at[:, None])
            seen = seen & ((j <= at) & (j >= from_s))[:, None]
            p = tl.exp2(tl.where(seen, score * (scale * LOG2_E) - lse[:, None], MASKED))
            dp = tl.dot(do * v_j[None, :], v, input_precision="ieee")
            ds = p * (dp - delta[:, None])
            inner = tl.dot(ds.to(DT), k, input_precision="ieee")
            acc += inner * k_j.to(tl.float32)[None, :]
    tl.store(dq_ptr + place[:, None] * D + channel, acc * scale, mask=inside[:, None])


@triton.jit(do_not_specialize=["Tq", "Tk", "WS", "WT"])
def simplicial_backward_dkv(
    q_ptr, ks_ptr, vs_ptr, kt_ptr, vt_ptr, starts_ptr, ends_ptr,
    lse_ptr, do_ptr, delta_ptr, dk_ptr, dv_ptr,
    q_b, q_h, q_t, ks_b, ks_h, ks_t, vs_b, vs_h, vs_t, kt_b, kt_h, kt_t, vt_b, vt_h, vt_t,
    do_b, do_h, do_t, scale, K, Tq, Tk, WS, WT,
    G: tl.constexpr, GH: tl.constexpr, D: tl.constexpr, R: tl.constexpr, BN: tl.constexpr,
    DT: tl.constexpr, SEGMENTED: tl.constexpr,
):  # fmt: skip
    # A program for each tile of keys, over all queries that see one of them, and all their heads.
    tiles = tl.cdiv(Tk, BN)
    n0 = tl.program_id(0) % tiles * BN
    rest = tl.program_id(0) // tiles
    kv_head = rest % K
    batch = (rest // K).to(tl.int64)
    starts_ptr += batch * Tk
    ends_ptr += batch * Tk
    channel = tl.arange(0, D)
    n = n0 + tl.arange(0, BN)
    real = n < Tk
    last = Tk
    if SEGMENTED:
        last = tl.max(tl.load(ends_ptr + n, mask=real, other=0), 0)
    first_head = (kv_head * G).to(tl.int64)
    kv_head = kv_head.to(tl.int64)
    ks_ptr += batch * ks_b + kv_head * ks_h
    vs_ptr += batch * vs_b + kv_head * vs_h
    kt_ptr += batch * kt_b + kv_head * kt_h
    vt_ptr += batch * vt_b + kv_head * vt_h
    long_n = n.to(tl.int64)
    k = tl.load(
        kt_ptr + (long_n * kt_t)[None, :] + channel[:, None], mask=real[None, :], other=0.0
    ).to(DT)  # [D, BN]
    v = tl.load(
        vt_ptr + (long_n * vt_t)[None, :] + channel[:, None], mask=real[None, :], other=0.0
    ).to(DT)  # [D, BN]
    scale = tl.full((), scale, tl.float32)
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    # In queries, not positions: the first that sees a key of the tile, and the last and one.
    low = tl.maximum(n0 - (Tk - Tq), 0)
    high = tl.minimum(n0 + BN - 1 + WT, last) - (Tk - Tq)
    parts = tl.cdiv(G, GH)
    for step in range(low // (R // GH) * parts, tl.cdiv(high, R // GH) * parts):
        query, head, at, from_s, from_t, _, there, first, lowest, highest = rows_of(
            step // parts, step % parts, starts_ptr, Tq, Tk, WS, WT, G, GH, R, SEGMENTED
        )
        head = first_head + head
        long_query = query.to(tl.int64)
        place = (batch * K * G + head) * Tq + query
        q = tl.load(
            q_ptr + batch * q_b + (head * q_h + long_query * q_t)[:, None] + channel,
            mask=there[:, None], other=0.0,
        ).to(DT)  # fmt: skip
        do = tl.load(
            do_ptr + batch * do_b + (head * do_h + long_query * do_t)[:, None] + channel,
            mask=there[:, None], other=0.0,
        ).to(DT)  # fmt: skip
        lse = tl.load(lse_ptr + place, mask=there, other=0.0) * LOG2_E
        delta = tl.load(delta_ptr + place, mask=there, other=0.0)
        for j in range(tl.maximum(lowest - WS + 1, first), highest + 1):
            long_j = tl.full((), j, tl.int64)
            k_j = tl.load(ks_ptr + long_j * ks_t + channel).to(DT)
            v_j = tl.load(vs_ptr + long_j * vs_t + channel).to(DT)
            left = q * k_j[None, :]
            right = do * v_j[None, :]
            score = tl.dot(left, k, input_precision="ieee")
            seen = (n[None, :] >= from_t[:, None]) & (n[None, :] <= at[:, None])
            seen = seen & ((j <= at) & (j >= from_s))[:, None]
            p = tl.exp2(tl.where(seen, score * (scale * LOG2_E) - lse[:, None], MASKED))
            dv += tl.dot(tl.trans(p.to(DT)), right, input_precision="ieee")
            dp = tl.dot(right, v, input_precision="ieee")
            ds = p * (dp - delta[:, None])
            dk += tl.dot(tl.trans(ds.to(DT)), left, input_precision="ieee")
    place = ((batch * K + kv_head) * Tk + n)[:, None] * D + channel
    tl.store(dk_ptr + place, dk * scale, mask=(n < Tk)[:, None])
    tl.store(dv_ptr + place, dv, mask=(n < Tk)[:, None])
