"""Planted faults of the linear scan."""

from __future__ import annotations

CPU = "core/kernels/cpu/linear_scan.py"
TRITON = "core/kernels/triton/linear_scan.py"
VIEWS = "core/kernels/triton/views.py"
REFERENCE = "equals_the_reference"

FAULTS: list[tuple[str, str, str, str, str]] = [
    (
        TRITON,
        "return a1 * a2, b2 + a2 * b1",
        "return a1 * a2, b1 + a1 * b2",
        "linear_scan",
        REFERENCE,
    ),
    (
        TRITON,
        "b = tl.where(place == 0, b + a * state, b)",
        "b = tl.where(place == 0, b + state, b)",
        "linear_scan",
        "a_split_with_its_carry_equals_the_whole",
    ),
    (
        TRITON,
        "state = tl.sum(tl.where(place == BT - 1, y, 0.0), 0)",
        "state = tl.sum(tl.where(place == 0, y, 0.0), 0)",
        "linear_scan",
        "factors_of_one_add_up",
    ),
    (
        TRITON,
        "for start in range(0, T, BT):",
        "for start in range(0, T - 1, BT):",
        "linear_scan",
        REFERENCE,
    ),
    (TRITON, "range(0, T + CARRY, BT)", "range(0, T, BT)", "linear_scan", REFERENCE),
    (TRITON, "after = token + 1\n", "after = token\n", "linear_scan", REFERENCE),
    (
        TRITON,
        "y = tl.where(step == T - 1, first, y)",
        "y = tl.where(step == T - 1, 0.0, y)",
        "linear_scan",
        REFERENCE,
    ),
    (
        TRITON,
        "tl.store(da_ptr + row * T + token, db * y",
        "tl.store(da_ptr + row * T + token, dy * y",
        "linear_scan",
        REFERENCE,
    ),
    (
        TRITON,
        "dy = tl.where(place == 0, dy + a * state, dy)",
        "dy = tl.where(place == 0, dy + a, dy)",
        "linear_scan",
        REFERENCE,
    ),
    (
        VIEWS,
        "return x if x.stride(-1) == 1 or x.shape[-1] == 1 else x.contiguous()",
        "return x",
        "linear_scan",
        "a_view_is_as_good_as_a_copy",
    ),
    (CPU, "a_pair = a[:, odd] * a[:, even]", "a_pair = a[:, odd]", "linear_scan", REFERENCE),
    (
        CPU,
        "y_odd[:, pairs - rest :] if reverse",
        "y_odd[:, :rest] if reverse",
        "linear_scan",
        REFERENCE,
    ),
    (
        CPU,
        "slice(tokens % 2, tokens - 1, 2)",
        "slice(0, 2 * (tokens // 2), 2)",
        "linear_scan",
        REFERENCE,
    ),
    (
        CPU,
        "b.new_zeros(b.shape[0]) if carry is None else carry",
        "b.new_zeros(b.shape[0])",
        "linear_scan",
        "factors_of_one_add_up",
    ),
    (CPU, "before[:, first] = carry", "before[:, first] = 0", "linear_scan", REFERENCE),
    (CPU, "shifted(a, 1 if reverse else -1), dy", "a, dy", "linear_scan", REFERENCE),
]
