"""Planted faults of the rotation of heads."""

from __future__ import annotations

CPU = "core/kernels/cpu/rope.py"
TRITON = "core/kernels/triton/rope.py"
TURNING = "core/kernels/triton/turning.py"
OP, REFERENCE = "rope", "equals_the_reference"

FAULTS = [
    # Turned as its value was on the way back, or both ways by the wrong angle.
    (TRITON, "if ADJACENT == BACK:", "if not ADJACENT:", OP, REFERENCE),
    (TRITON, "if ADJACENT == BACK:", "if ADJACENT != BACK:", OP, REFERENCE),
    (
        TRITON,
        "a * cos + b * sin, b * cos - a * sin",
        "a * cos + b * sin, b * cos + a * sin",
        OP,
        "turning_keeps_lengths",
    ),
    # The position of another token: heads counted as tokens.
    (TURNING, "cos_ptr + token * stride_cos", "cos_ptr + 0 * stride_cos", OP, REFERENCE),
    (TRITON, "tl.store(y_at + channel, rest, mask=inside)", "pass", OP, REFERENCE),
    (
        TRITON,
        "        tl.store(y_at + channel, rest, mask=inside)",
        "        tl.store(y_at + channel, rest * 1.001, mask=inside)",
        OP,
        "what_stands_still_is_left_alone",
    ),
    (
        TURNING,
        '"BR": runtime.next_power_of_2(max(width - 2 * pairs, 1))',
        '"BR": runtime.next_power_of_2(max(width - 2 * pairs, 1)) // 2 or 1',
        OP,
        "turning_back_restores",
    ),
    (CPU, '(rotation.style == "adjacent") != back', 'rotation.style == "adjacent"', OP, REFERENCE),
    (
        CPU,
        "result[..., b].addcmul_(wide[..., a], sin, value=by)",
        "result[..., b].addcmul_(result[..., a], sin, value=by)",
        OP,
        "turning_keeps_lengths",
    ),
    (CPU, "rest = cos.new_ones(", "rest = cos.new_zeros(", OP, "what_stands_still_is_left_alone"),
    (CPU, "width == 2 * rotation.pairs and", "width % 2 == 0 and", OP, "nan_reaches_its_pair"),
    (
        CPU,
        "    result = wide * cos\n",
        "    result = wide * cos if back else wide.mul_(cos)\n",
        OP,
        REFERENCE,
    ),
]
