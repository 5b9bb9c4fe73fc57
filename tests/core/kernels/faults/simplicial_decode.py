"""Planted faults of the decoding of 2-simplicial attention."""

from __future__ import annotations

CPU = "core/kernels/cpu/simplicial_decode.py"
TRITON = "core/kernels/triton/simplicial_decode.py"
OP = "simplicial_attention_decode"
REFERENCE = "equals_reference"

FAULTS = [
    (TRITON, "slot = (n % ST)", "slot = (n % SS)", OP, REFERENCE),
    (TRITON, "tl.maximum(length - WT, 0)", "tl.maximum(length - WT - 1, 0)", OP, REFERENCE),
    (
        TRITON,
        "tl.maximum(length - WS, 0), length)",
        "tl.maximum(length - WS, 0), length - 1)",
        OP,
        "is_last_row_of_prefill",
    ),
    (TRITON, "head = kv_head * G + member", "head = member * K + kv_head", OP, REFERENCE),
    (TRITON, "most + tl.log2(total)", "most + tl.log(total)", OP, REFERENCE),
    (TRITON, "reach(slots1, window1)", "window1 or slots1", OP, REFERENCE),
    (CPU, "second.hidden is not None", "second.hidden is first", OP, REFERENCE),
    (CPU, "torch.arange(stop, start, -1", "torch.arange(stop - 1, start - 1, -1", OP, REFERENCE),
    (CPU, "window1, window2 = window2, window1", "pass", OP, "is_last_row_of_prefill"),
    (CPU, "lse.masked_fill_(empty, -torch.inf)", "lse", OP, "no_tokens_give_nothing"),
]
