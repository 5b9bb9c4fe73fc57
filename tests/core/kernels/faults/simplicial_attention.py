"""Planted faults of 2-simplicial attention; the first two are those of a published backward pass:
a maximum in base-2 units beside a natural logarithm, and sums over groups and batch rows mixed."""

from __future__ import annotations

CPU = "core/kernels/cpu/simplicial_attention.py"
SHORT = "core/kernels/cpu/simplicial_short.py"
LAUNCH = "core/kernels/triton/simplicial_attention.py"
KERNELS = "core/kernels/triton/simplicial_kernels.py"
OP = "simplicial_attention"
REFERENCE = "equals_reference"

FAULTS = [
    (KERNELS, "most + tl.log2(total)", "most + tl.log(total)", OP, REFERENCE),
    (
        KERNELS,
        "            do_ptr + batch * do_b",
        "            do_ptr + batch * 0",
        OP,
        "batch_rows_are_separate",
    ),
    (
        KERNELS,
        "        head = first_head + head\n",
        "        head = first_head + head * 0\n",
        OP,
        "grouped_equals_repeated",
    ),
    (
        KERNELS,
        "first_head = (kv_head * G).to(tl.int64)",
        "first_head = kv_head.to(tl.int64)",
        OP,
        "grouped_equals_repeated",
    ),
    (
        KERNELS,
        "tl.maximum(begin, at - WS + 1)",
        "tl.maximum(begin, at - WS)",
        OP,
        "blind_outside_windows",
    ),
    (
        KERNELS,
        "tl.maximum(begin, at - WT + 1)",
        "tl.maximum(begin, at - WT)",
        OP,
        "blind_outside_windows",
    ),
    (KERNELS, "total = total * shrink +", "total = total +", OP, REFERENCE),
    (KERNELS, "acc = acc * shrink[:, None] +", "acc = acc +", OP, REFERENCE),
    (
        KERNELS,
        "acc = acc * shrink[:, None] + inner * v_j.to(tl.float32)[None, :]",
        "acc = acc * shrink[:, None] + inner",
        OP,
        "factors_move_between_streams",
    ),
    (
        KERNELS,
        "p = tl.where(seen, tl.exp2(score - higher[:, None]), 0.0)",
        "p = tl.exp2(score - higher[:, None])",
        OP,
        REFERENCE,
    ),
    (KERNELS, "acc += inner * k_j.to(tl.float32)[None, :]", "acc += inner", OP, REFERENCE),
    (
        KERNELS,
        "range(tl.maximum(lowest - WS + 1, first), highest + 1)",
        "range(tl.maximum(lowest - WS + 1, first), highest)",
        OP,
        REFERENCE,
    ),
    (
        KERNELS,
        "range(tl.maximum(lowest - WS + 1, first), highest + 1)",
        "range(tl.maximum(lowest - WS + 2, first), highest + 1)",
        OP,
        REFERENCE,
    ),
    (KERNELS, "dk * scale", "dk * scale * scale", OP, "ones_give_attention"),
    (KERNELS, "delta = delta - tl.load(", "delta = delta + tl.load(", OP, REFERENCE),
    (KERNELS, "n0 + BN - 1 + WT, last", "n0 + BN - 2 + WT, last", OP, REFERENCE),
    (KERNELS, "low = tl.maximum(n0 -", "low = tl.maximum(n0 + BN -", OP, REFERENCE),
    (KERNELS, "first = tl.min(begin, 0)", "first = tl.max(begin, 0)", OP, REFERENCE),
    (
        KERNELS,
        "last = tl.max(tl.load(ends_ptr",
        "last = tl.min(tl.load(ends_ptr",
        OP,
        "packed_equals_separate",
    ),
    (KERNELS, "head = part * GH + row % GH", "head = row % GH", OP, REFERENCE),
    (KERNELS, "tl.cdiv(high, R // GH) * parts", "tl.cdiv(high, R // GH)", OP, REFERENCE),
    (
        LAUNCH,
        "else ((second, first), (two, one))",
        "else ((second, first), (one, two))",
        OP,
        "streams_may_change_places",
    ),
    (
        LAUNCH,
        "each.masked_fill(padding, 0.0)",
        "each.masked_fill(padding & False, 0.0)",
        OP,
        "padding_is_nothing",
    ),
    (
        LAUNCH,
        "one, two = reach(keys, window1), reach(keys, window2)",
        "one, two = (keys if w is None else min(w, keys - 1) for w in (window1, window2))",
        OP,
        "wide_window_is_none",
    ),
    (CPU, "(key <= at - long)", "(key < at - long)", OP, "blind_outside_windows"),
    (CPU, "at - back < starts", "at - back < starts - 1", OP, "packed_equals_separate"),
    (CPU, "shift = -(out.to(wide)", "shift = (out.to(wide)", OP, REFERENCE),
    (CPU, "shift = shift + d_lse", "shift = shift - d_lse", OP, REFERENCE),
    (
        CPU,
        "streams = (d_k_long, d_k_short, d_v_long, d_v_short)",
        "streams = (d_k_short, d_k_long, d_v_short, d_v_long)",
        OP,
        "streams_may_change_places",
    ),
    (CPU, "mask.repeat_interleave(kv_heads, 0)", "mask.repeat(kv_heads, 1, 1, 1)", OP, REFERENCE),
    (
        CPU,
        "x = x.unflatten(1, (kv_heads, -1)).flatten(0, 1)",
        "x = x.unflatten(1, (-1, kv_heads)).transpose(1, 2).flatten(0, 1)",
        OP,
        "grouped_equals_repeated",
    ),
    (CPU, "plan, q.shape[0]).mul(scale)", "plan, q.shape[0])", OP, "ones_give_attention"),
    (SHORT, "window=window, segments", "window=window1, segments", OP, REFERENCE),
    (SHORT, "padding = spans(segments)", "padding = ~spans(segments)", OP, REFERENCE),
    (SHORT, "shift = shift - d_lse", "shift = shift + d_lse", OP, REFERENCE),
    (SHORT, ".mul_(weights).mul_(scale)", ".mul_(weights)", OP, "ones_give_attention"),
    (SHORT, "sub_(weights.amax(-1).log_())", "add_(weights.amax(-1).log_())", OP, REFERENCE),
    (SHORT, "(right * upstream)", "(d_left * upstream)", OP, REFERENCE),
]
