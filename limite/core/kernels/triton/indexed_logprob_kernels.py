"""The kernels of the head: sums over the vocabulary, gradients of logits, indexed logits alone."""

from __future__ import annotations

import triton
import triton.language as tl

LOG2_E: tl.constexpr = tl.constexpr(1.4426950408889634)
MASKED: tl.constexpr = tl.constexpr(-1.0e30)
NONE: tl.constexpr = tl.constexpr(0)  # how the product is rounded
BFLOAT16: tl.constexpr = tl.constexpr(1)


@triton.jit
def _rounded(x, ROUND: tl.constexpr):
    # To the nearest bfloat16, ties to even, by its bits: the interpreter's cast cuts them off.
    if ROUND == BFLOAT16:
        bits = x.to(tl.int32, bitcast=True)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & -65536
        x = tl.where(x == x, bits.to(tl.float32, bitcast=True), x)
    elif ROUND != NONE:
        x = x.to(tl.float16).to(tl.float32)
    return x


@triton.jit
def _squashed(u):
    # The sigmoid. NaN compares false, and stays.
    power = -u * LOG2_E
    power = tl.where(power > 126.0, 126.0, power)
    return 1.0 / (1.0 + tl.exp2(power))


@triton.jit
def _tile(
    hidden_ptr, weight_ptr, stride_h, stride_w, row, column, N, V, scale, shift,
    D: tl.constexpr, BM: tl.constexpr, BV: tl.constexpr, BD: tl.constexpr, DT: tl.constexpr,
    CAP: tl.constexpr, ROUND: tl.constexpr,
):  # fmt: skip
    # [BM, BV]: sigmoids where capped, logits where not. Beyond the last row and column, those of
    # the last again.
    row = tl.where(row < N, row, N - 1).to(tl.int64)[:, None]
    column = tl.where(column < V, column, V - 1).to(tl.int64)[None, :]
    made = tl.zeros([BM, BV], tl.float32)
    for start in range(0, D, BD):
        across = start + tl.arange(0, BD)
        h_at = hidden_ptr + row * stride_h + across[None, :]
        w_at = weight_ptr + column * stride_w + across[:, None]
        if D % BD == 0:
            h = tl.load(h_at)
            w = tl.load(w_at)
        else:
            h = tl.load(h_at, mask=across[None, :] < D, other=0.0)
            w = tl.load(w_at, mask=across[:, None] < D, other=0.0)
        made = tl.dot(h.to(DT), w.to(DT), made, input_precision="ieee")
    made = _rounded(made, ROUND) * scale
    if CAP:
        made = _squashed(made + shift)
    return made


@triton.jit
def _forward_kernel(
    hidden_ptr, weight_ptr, index_ptr, chosen_ptr, totals_ptr, sums_ptr, tops_ptr,
    stride_h, stride_w, stride_i, N, V, scale, shift, height,
    D: tl.constexpr, CAP: tl.constexpr, BOUNDED: tl.constexpr, ROUND: tl.constexpr,
    ENTROPY: tl.constexpr, PICK: tl.constexpr, DT: tl.constexpr, SPAN: tl.constexpr,
    BM: tl.constexpr, BV: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    # One program: BM rows, SPAN ids. Sums of exponentials less their top, which is the bound
    # where there is one.
    scale = tl.full((), scale, tl.float32)
    shift = tl.full((), shift, tl.float32)
    height = tl.full((), height, tl.float32)
    span = tl.program_id(1)
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    first = span * SPAN
    last = tl.minimum(first + SPAN, V)
    top = tl.full([BM], MASKED, tl.float32)
    total = tl.zeros([BM], tl.float32)
    total_z = tl.zeros([BM], tl.float32)
    chosen = tl.zeros([BM], tl.float32)
    index = tl.full([BM], -1, tl.int64)
    if PICK:
        index = tl.load(index_ptr + row.to(tl.int64) * stride_i, mask=row < N, other=-1)
    for start in range(first, last, BV):
        column = start + tl.arange(0, BV)
        made = _tile(
            hidden_ptr, weight_ptr, stride_h, stride_w, row, column, N, V, scale, shift,
            D, BM, BV, BD, DT, CAP, ROUND,
        )  # fmt: skip
        logits = made * height
        inside = (column < V)[None, :]
        if PICK:
            mine = column[None, :] == index[:, None]
            chosen += tl.sum(tl.where(mine, logits, 0.0), 1)
        if BOUNDED:
            logits -= height
        else:
            # Columns beyond the last repeat it, and raise no maximum. Nor does NaN, which the
            # maximum passes over: it reaches the sums as its own exponential, and stays in them.
            higher = tl.maximum(top, tl.max(logits, 1))
            shrunk = tl.exp2((top - higher) * LOG2_E)
            total_z = (total_z + (top - higher) * total) * shrunk
            total *= shrunk
            top = higher
            logits -= top[:, None]
        exponential = tl.where(inside, tl.exp2(logits * LOG2_E), 0.0)
        total += tl.sum(exponential, 1)
        if ENTROPY:
            total_z += tl.sum(tl.where(inside, exponential * logits, 0.0), 1)
    at = span.to(tl.int64) * N + row
    tl.store(totals_ptr + at, total, mask=row < N)
    if not BOUNDED:
        tl.store(tops_ptr + at, top, mask=row < N)
    if ENTROPY:
        tl.store(sums_ptr + at, total_z, mask=row < N)
    if PICK:
        # The program that saw the id writes; the first writes where there is none to see.
        seen = (index >= first) & (index < last)
        beyond = index >= V
        chosen = tl.where(beyond, float("nan"), chosen)
        starts = tl.zeros([BM], tl.int32) + first == 0
        writes = seen | (starts & (beyond | (index < 0)))
        tl.store(chosen_ptr + row, chosen, mask=(row < N) & writes)


@triton.jit
def _change_kernel(
    hidden_ptr, weight_ptr, index_ptr, push_ptr, pull_ptr, slant_ptr, lse_ptr, change_ptr,
    stride_h, stride_w, stride_i, stride_c, N, V, first, scale, shift, height,
    D: tl.constexpr, CAP: tl.constexpr, ROUND: tl.constexpr, ENTROPY: tl.constexpr,
    PICK: tl.constexpr, DT: tl.constexpr, BM: tl.constexpr, BV: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    # The gradient of the product, of BM rows and BV ids: p (pull + slant log p), and push for the
    # indexed id. V: where the ids of the slice end, which begins with ``first``.
    scale = tl.full((), scale, tl.float32)
    shift = tl.full((), shift, tl.float32)
    height = tl.full((), height, tl.float32)
    tall = tl.cdiv(N, BM)
    row = tl.program_id(0) % tall * BM + tl.arange(0, BM)
    column = first + tl.program_id(0) // tall * BV + tl.arange(0, BV)
    made = _tile(
        hidden_ptr, weight_ptr, stride_h, stride_w, row, column, N, V, scale, shift,
        D, BM, BV, BD, DT, CAP, ROUND,
    )  # fmt: skip
    there = row < N
    lse = tl.load(lse_ptr + row, mask=there, other=0.0)
    pull = tl.load(pull_ptr + row, mask=there, other=0.0)
    logp = made * height - lse[:, None]
    # Where there is no row, logits less 0 could be anything.
    logp = tl.where(there[:, None], logp, MASKED)
    probability = tl.exp2(logp * LOG2_E)
    change = probability * pull[:, None]
    if ENTROPY:
        slant = tl.load(slant_ptr + row, mask=there, other=0.0)
        change += probability * (slant[:, None] * logp)
    if PICK:
        index = tl.load(index_ptr + row.to(tl.int64) * stride_i, mask=there, other=-1)
        push = tl.load(push_ptr + row, mask=there, other=0.0)
        change += tl.where(column[None, :] == index[:, None], push[:, None], 0.0)
    if CAP:
        change *= made * (1.0 - made)
    at = change_ptr + row.to(tl.int64)[:, None] * stride_c + (column - first)[None, :]
    tl.store(at, change, mask=there[:, None] & (column < V)[None, :])


@triton.jit
def _picks_kernel(
    hidden_ptr, weight_ptr, index_ptr, raw_ptr, stride_h, stride_w, stride_i, K, V,
    D: tl.constexpr, ROUND: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    # The indexed products of one row, each summed by itself; NaN for ids that do not exist.
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        index = tl.load(index_ptr + row * stride_i + k, mask=k < K, other=-1)
        there = (index >= 0) & (index < V)
        raw = tl.zeros([BK], tl.float32)
        for begin in range(0, D, BD):
            across = begin + tl.arange(0, BD)
            inside = across < D
            h = tl.load(hidden_ptr + row * stride_h + across, mask=inside, other=0.0)
            w_at = weight_ptr + index[:, None] * stride_w + across[None, :]
            w = tl.load(w_at, mask=there[:, None] & inside[None, :], other=0.0)
            raw += tl.sum(w.to(tl.float32) * h.to(tl.float32)[None, :], 1)
        raw = tl.where(index < V, _rounded(raw, ROUND), float("nan"))
        tl.store(raw_ptr + row * K + k, raw, mask=k < K)


@triton.jit
def _pushes_kernel(
    index_ptr, push_ptr, base_ptr, change_ptr, stride_i, stride_c, K, first, last,
    BK: tl.constexpr,
):  # fmt: skip
    # Writes the gradients of one row's indexed logits: base, and the push of every equal id. The
    # first of equal ids writes, so that no two lanes write to one place.
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        index = tl.load(index_ptr + row * stride_i + k, mask=k < K, other=-1)
        push = tl.zeros([BK], tl.float32)
        earlier = tl.zeros([BK], tl.int32)
        for begin in range(0, K, BK):
            j = begin + tl.arange(0, BK)
            other = tl.load(index_ptr + row * stride_i + j, mask=j < K, other=-1)
            theirs = tl.load(push_ptr + row * K + j, mask=j < K, other=0.0)
            same = index[:, None] == other[None, :]
            push += tl.sum(tl.where(same, theirs[None, :], 0.0), 1)
            earlier += tl.sum((same & (j[None, :] < k[:, None])).to(tl.int32), 1)
        mine = (index >= first) & (index < last) & (earlier == 0)
        at = change_ptr + row * stride_c + (index - first)
        base = tl.load(base_ptr + row * K + k, mask=k < K, other=0.0)
        tl.store(at, base + push, mask=mine)
