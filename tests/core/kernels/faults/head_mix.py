"""Planted faults of the own value's removal and the head gate."""

from __future__ import annotations

CPU = "core/kernels/cpu/head_mix.py"
TRITON = "core/kernels/triton/head_mix.py"
OP, REFERENCE = "head_mix", "equals_the_reference"

FAULTS = [
    # The value of another head: h % K for h // G.
    (
        TRITON,
        "    for member in range(H // K):\n        head = kv_head * (H // K) + member\n"
        "        y_at = y_ptr + token[:, None] * stride_y_token + head * stride_y_head + channel\n"
        "        y = tl.load(y_at, mask=inside, other=0.0).to(tl.float32)\n"
        "        if alpha_ptr",
        "    for member in range(H // K):\n        head = member * K + kv_head\n"
        "        y_at = y_ptr + token[:, None] * stride_y_token + head * stride_y_head + channel\n"
        "        y = tl.load(y_at, mask=inside, other=0.0).to(tl.float32)\n"
        "        if alpha_ptr",
        OP,
        "grouped_equals_repeated",
    ),
    (
        TRITON,
        "            y -= (strength * tl.sum(y * unit, 1))[:, None] * unit\n",
        "            y -= (strength * tl.sum(y, 1))[:, None] * unit\n",
        OP,
        "full_strength_removes_the_value",
    ),
    (
        TRITON,
        "y = y * (2.0 * _sigmoid(gate))[:, None]",
        "y = y * _sigmoid(gate)[:, None]",
        OP,
        "at_zero_nothing_changes",
    ),
    (
        TRITON,
        "unit / tl.maximum(tl.sqrt(tl.sum(unit * unit, 1)), SHORT)[:, None]",
        "unit / (tl.sqrt(tl.sum(unit * unit, 1)) + SHORT)[:, None]",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "inward = tl.where(length > SHORT, 2.0 * inward, 0.0)",
        "inward = 2.0 * inward",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "inward = tl.where(length > SHORT, 2.0 * inward, 0.0)",
        "inward = tl.where(length > SHORT, inward, 0.0)",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "            change += (strength * pushed)[:, None] * y\n",
        "            change = (strength * pushed)[:, None] * y\n",
        OP,
        "grouped_equals_repeated",
    ),
    (
        TRITON,
        "(strength * strength - 1.0) * tl.sum(both, 0)",
        "(strength * strength - 1.0) * tl.sum(along, 0)",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "d_gate * gate * (1.0 - 0.5 * gate)",
        "d_gate * gate * (1.0 - gate)",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "d_gate -= strength * along * tl.sum(g * unit, 1)",
        "d_gate -= strength * along * pushed",
        OP,
        REFERENCE,
    ),
    (TRITON, "d_alpha.sum(0).to(alpha.dtype)", "d_alpha[0].to(alpha.dtype)", OP, REFERENCE),
    (
        TRITON,
        "    return tl.where(x >= 0, size, -size)",
        "    return size",
        OP,
        "full_strength_removes_the_value",
    ),
    (
        CPU,
        ".mul_(2.0).mul_(length > SHORTEST)",
        ".mul_(2.0)",
        OP,
        REFERENCE,
    ),
    (
        CPU,
        "d_gate.mul_(gate * (2.0 - gate))",
        "d_gate.mul_(gate * (1.0 - gate))",
        OP,
        REFERENCE,
    ),
]
