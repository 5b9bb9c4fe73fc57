"""Planted faults of attention on a CPU."""

from __future__ import annotations

MAIN = "core/kernels/cpu/attention.py"
CHUNKED = "core/kernels/cpu/attention_chunked.py"
FOLD = "core/kernels/cpu/attention_fold.py"
RECTANGLE = "core/kernels/cpu/attention_rectangle.py"
SHORT = "core/kernels/cpu/attention_short.py"
STRETCHES = "core/kernels/cpu/attention_stretches.py"
OP = "attention"
REFERENCE = "equals_reference"

FAULTS: list[tuple[str, str, str, str, str]] = [
    (
        FOLD,
        "length, kv_heads, heads // kv_heads, width).transpose(1, 2)",
        "length, heads // kv_heads, kv_heads, width).transpose(1, 3)",
        OP,
        "packed_equals_separate",
    ),
    (
        SHORT,
        "(distance >= (keys if window is None else window))",
        "(distance > (keys if window is None else window))",
        OP,
        REFERENCE,
    ),
    (SHORT, "delta -= d_lse", "delta += d_lse", OP, REFERENCE),
    (
        SHORT,
        "slope = bent.square().neg_().add_(1.0)",
        "slope = bent.neg().add_(1.0)",
        OP,
        REFERENCE,
    ),
    (
        SHORT,
        "d_q = torch.bmm(d_scores, k).mul_(short.scale)",
        "d_q = torch.bmm(d_scores, k)",
        OP,
        "packed_equals_separate",
    ),
    (
        RECTANGLE,
        "torch.bmm(d_scores, k).mul_(way.scale)",
        "torch.bmm(d_scores, k)",
        OP,
        REFERENCE,
    ),
    (RECTANGLE, ".repeat(group, 1)", ".repeat_interleave(group, 0)", OP, REFERENCE),
    (
        STRETCHES,
        "near = (distance >= 0) & (distance < window)",
        "near = distance >= 0",
        OP,
        "packed_equals_separate",
    ),
    (
        STRETCHES,
        "return mine.addcmul_(later, stretches.goes_on).transpose",
        "return mine.transpose",
        OP,
        "packed_equals_separate",
    ),
    (
        MAIN,
        "window is None or self.window < longest",
        "window is None or self.window < longest - 1",
        OP,
        REFERENCE,
    ),
    (
        CHUNKED,
        "offset = chunk.place - plan.window - chunk.low",
        "offset = chunk.place - plan.window - chunk.low + 1",
        OP,
        REFERENCE,
    ),
    (MAIN, "rows.starts[:, keys - queries :]", "rows.starts[:, :queries]", OP, REFERENCE),
    (
        MAIN,
        "row.flatten()[real], return_counts=True",
        "segments.flatten()[real], return_counts=True",
        OP,
        REFERENCE,
    ),
    (MAIN, "put(lse, -torch.inf)", "put(lse, 0.0)", OP, REFERENCE),
]
