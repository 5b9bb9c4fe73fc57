"""Planted faults of the norm and the residual join."""

from __future__ import annotations

CPU = "core/kernels/cpu/rms_norm.py"
TRITON = "core/kernels/triton/rms_norm.py"
VIEWS = "core/kernels/triton/views.py"
NORM, JOIN = "equals_the_reference", "the_join_equals_the_reference"

FAULTS = [
    # The mean over the block instead of the row.
    (TRITON, "tl.sum(x * x, 1) / D + EPS", "tl.sum(x * x, 1) / BD + EPS", "rms_norm", NORM),
    (TRITON, "tl.sum(x * x, 1) / D + EPS", "tl.sum(x * x, 1) / D + 2 * EPS", "rms_norm", NORM),
    (TRITON, "tl.sum(g * normal, 1)[:, None] / D", "tl.sum(g, 1)[:, None] / D", "rms_norm", NORM),
    (
        TRITON,
        "inverse * (g - normal * share)",
        "inverse * g - normal * share",
        "rms_norm",
        "no_gradient_along_a_row",
    ),
    # The weight's gradient from what was already multiplied by it.
    (
        TRITON,
        "            d_weight += g * normal\n",
        "            d_weight = g * normal\n",
        "rms_norm",
        NORM,
    ),
    # Each program its own rows, and all of them.
    (
        TRITON,
        "range(program * ROWS, N, tl.num_programs(0) * ROWS)",
        "range(program * ROWS, N - 1, tl.num_programs(0) * ROWS)",
        "rms_norm",
        NORM,
    ),
    (
        TRITON,
        "range(program * ROWS, N, tl.num_programs(0) * ROWS)",
        "range(program, N, tl.num_programs(0) * ROWS)",
        "rms_norm",
        NORM,
    ),
    (
        TRITON,
        "    there = row < N\n    column",
        "    there = row <= N\n    column",
        "rms_norm",
        NORM,
    ),
    (
        TRITON,
        "return parts.sum(0).to(like.dtype)",
        "return parts[0].to(like.dtype)",
        "rms_norm",
        NORM,
    ),
    (
        VIEWS,
        "side_by_side(x.reshape(-1, x.shape[-1]))",
        "x.as_strided((x.numel() // x.shape[-1], x.shape[-1]), (x.shape[-1], 1))",
        "rms_norm",
        NORM,
    ),
    (TRITON, "d_a = change * keep\n", "d_a = change\n", "add_rms_norm", JOIN),
    (
        TRITON,
        "            change += d_total.to(tl.float32)\n",
        "            change = d_total.to(tl.float32)\n",
        "add_rms_norm",
        JOIN,
    ),
    (
        TRITON,
        "d_keep += tl.sum(change * a.to(tl.float32), 1)",
        "d_keep += tl.sum(change * x, 1)",
        "add_rms_norm",
        JOIN,
    ),
    (
        CPU,
        "    number = widened(cast(scalar, kind))\n",
        "    number = scalar\n",
        "add_rms_norm",
        "scalars_are_rounded_first",
    ),
    (CPU, "        g = g * cast(weight, g.dtype)\n", "", "rms_norm", NORM),
    (
        CPU,
        "share.mul_(inverse * inverse * inverse)",
        "share.mul_(inverse * inverse)",
        "rms_norm",
        NORM,
    ),
    (CPU, "            change.add_(d_total)\n", "            pass\n", "add_rms_norm", JOIN),
]
