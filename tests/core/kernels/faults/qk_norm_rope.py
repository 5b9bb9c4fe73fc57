"""Planted faults of the norm and rotation of queries and keys."""

from __future__ import annotations

CPU = "core/kernels/cpu/qk_norm_rope.py"
TRITON = "core/kernels/triton/qk_norm_rope.py"
TURNING = "core/kernels/triton/turning.py"
OP, REFERENCE = "qk_norm_rope", "equals_the_reference"

FAULTS = [
    # Turned the other way: norms stay, and so do products of queries and keys.
    (
        TRITON,
        "a * cos + b * sin, b * cos - a * sin",
        "a * cos - b * sin, b * cos + a * sin",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "a * cos + b * sin, b * cos - a * sin",
        "a * cos + b * sin, b * cos + a * sin",
        OP,
        "turning_keeps_norms",
    ),
    # The gradient turned as its value was.
    (
        TRITON,
        "da = turned_a * cos - turned_b * sin\n        db = turned_b * cos + turned_a * sin",
        "da = turned_a * cos + turned_b * sin\n        db = turned_b * cos - turned_a * sin",
        OP,
        REFERENCE,
    ),
    # The position of another token: heads counted as tokens.
    (TURNING, "sin_ptr + token * stride_sin", "sin_ptr + 0 * stride_sin", OP, REFERENCE),
    (
        TRITON,
        "            sin = -sin\n        a = a * inverse",
        "            sin = sin\n        a = a * inverse",
        OP,
        "styles_differ_by_an_order",
    ),
    (
        TRITON,
        "    if D > 2 * PAIRS:\n        tl.store(y_at + channel, rest * inverse, mask=inside)",
        "    if D > 2 * PAIRS:\n        tl.store(y_at + channel, rest, mask=inside)",
        OP,
        "without_pairs_it_is_the_norm",
    ),
    (
        TRITON,
        "        square += tl.sum(rest * rest, 1)\n    inverse = tl.rsqrt(tl.where(there, "
        "(square / D + EPS)[:, None], 1.0))\n    if PAIRS",
        "    inverse = tl.rsqrt(tl.where(there, (square / D + EPS)[:, None], 1.0))\n    if PAIRS",
        OP,
        "without_pairs_it_is_the_norm",
    ),
    (
        TRITON,
        "share = along[:, None] * inverse * inverse / D",
        "share = along[:, None] * inverse / D",
        OP,
        REFERENCE,
    ),
    (TRITON, "        along += tl.sum(rest * d_rest, 1)\n", "", OP, REFERENCE),
    (
        TURNING,
        "        tl.store(at + PAIRS + channel, b, mask=inside)",
        "        tl.store(at + BP + channel, b, mask=inside)",
        OP,
        REFERENCE,
    ),
    (
        TURNING,
        '"BR": runtime.next_power_of_2(max(width - 2 * pairs, 1))',
        '"BR": runtime.next_power_of_2(max(width // 2 - pairs, 1))',
        OP,
        "turning_back_restores",
    ),
    (
        CPU,
        "key = (heads, half, kind, back)",
        "key = (heads, half, kind)",
        OP,
        REFERENCE,
    ),
    (
        CPU,
        "    b.mul_(cos).addcmul_(a, sin, value=by)\n    a.copy_(turned)",
        "    a.copy_(turned)\n    b.mul_(cos).addcmul_(a, sin, value=by)",
        OP,
        REFERENCE,
    ),
    (
        CPU,
        '(rotation.style == "adjacent") != back',
        'rotation.style == "adjacent"',
        OP,
        REFERENCE,
    ),
    (
        CPU,
        "        if wide is gradient or not wide.is_contiguous():\n",
        "        if not wide.is_contiguous():\n",
        OP,
        "two_runs_are_identical",
    ),
]
