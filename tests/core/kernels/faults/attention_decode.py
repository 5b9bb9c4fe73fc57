"""Planted faults of decoding attention."""

from __future__ import annotations

CPU = "core/kernels/cpu/attention_decode.py"
TRITON = "core/kernels/triton/attention_decode.py"
OP = "attention_decode"
REFERENCE = "equals_reference"

FAULTS: list[tuple[str, str, str, str, str]] = [
    (
        TRITON,
        "count = tl.minimum(length, window)  # of visible keys",
        "count = tl.minimum(length, window + 1)",
        OP,
        REFERENCE,
    ),
    (TRITON, "last = tl.minimum(first + SPLIT, count)", "last = first + SPLIT", OP, REFERENCE),
    (TRITON, "(length - count + keys) % S", "keys % S", OP, "a_ring_is_a_window"),
    (TRITON, "kv_head * G * q_head", "kv_head * q_head", OP, REFERENCE),
    (
        TRITON,
        "total = total * rescale + tl.sum(weight, 1)",
        "total = total + tl.sum(weight, 1)",
        OP,
        REFERENCE,
    ),
    (TRITON, "value, sums * rescale[:, None],", "value, sums,", OP, REFERENCE),
    (
        TRITON,
        "score = tl.where(seen[None, :], score * factor, MASKED)",
        "score = score * factor",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "bits = highest + tl.log2(total)\n",
        "bits = highest + tl.log(total)\n",
        OP,
        REFERENCE,
    ),
    (TRITON, "tanh(score * inner)", "tanh(score)", OP, REFERENCE),
    (
        TRITON,
        "v + slots[:, None] * v_slot + columns[None, :] * v_channel,\n                "
        "mask=seen[:, None], other=0.0,",
        "v + slots[:, None] * v_slot + columns[None, :] * v_channel,",
        OP,
        "other_slots_do_not_matter",
    ),
    (
        TRITON,
        "mixed = mixed * rescale + tl.sum(part * weight[:, None], 0)",
        "mixed = mixed + tl.sum(part * weight[:, None], 0)",
        OP,
        "splits_do_not_matter",
    ),
    (
        TRITON,
        "count = tl.cdiv(tl.minimum(length, window), SPLIT)",
        "count = tl.minimum(length, window) // SPLIT",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "count = tl.cdiv(tl.minimum(length, window), SPLIT)",
        "count = splits",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        'splits = max(1, runtime.cdiv(min(moment.longest, visible), tile["SPLIT"]))',
        'splits = max(1, min(moment.longest, visible) // tile["SPLIT"])',
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "if (first < count) | (first == 0):",
        "if first < count:",
        OP,
        "rows_without_tokens_give_nothing",
    ),
    (CPU, "(size + 1, size), -torch.inf", "(size + 1, size), -1.0", OP, REFERENCE),
    (CPU, "seen = lengths - start if start else lengths", "seen = lengths", OP, REFERENCE),
    (
        CPU,
        "distance >= column.clamp(max=window)",
        "distance > column.clamp(max=window)",
        OP,
        REFERENCE,
    ),
    (CPU, "distance += (distance < 0) * slots", "distance += 0", OP, REFERENCE),
    (
        CPU,
        "first = moment.shortest - window",
        "first = moment.longest - window",
        OP,
        REFERENCE,
    ),
    (
        CPU,
        "if each[0] < moment.longest and",
        "if each[1] <= moment.longest and",
        OP,
        REFERENCE,
    ),
    (CPU, "if moment.shortest >= stop:", "if moment.longest >= stop:", OP, REFERENCE),
    (
        CPU,
        "Stretch(start, stop, bias[:, None], blank if bool(blank.any()) else None)",
        "Stretch(start, stop, bias[:, None], None)",
        OP,
        REFERENCE,
    ),
    (CPU, "peak = torch.maximum(peak, each)", "peak = each", OP, REFERENCE),
    (CPU, "out.addcmul_(each, share / total)", "out.addcmul_(each, share)", OP, REFERENCE),
    (
        CPU,
        "out = outs[0] * (shares[0] / total)",
        "out = outs[0] * shares[0]",
        OP,
        "splits_do_not_matter",
    ),
    (
        CPU,
        "lengths = lengths.repeat_interleave(kv_heads)",
        "lengths = lengths.repeat(kv_heads)",
        OP,
        REFERENCE,
    ),
    (
        CPU,
        "sums.append(_cleared(logsum, stretch.blank, -torch.inf))",
        "sums.append(logsum)",
        OP,
        "rows_without_tokens_give_nothing",
    ),
]
