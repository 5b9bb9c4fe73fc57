"""Planted faults of SwiGLU."""

from __future__ import annotations

CPU = "core/kernels/cpu/swiglu.py"
TRITON = "core/kernels/triton/swiglu.py"
OP, REFERENCE = "swiglu", "equals_the_reference"

FAULTS = [
    (TRITON, "(1.0 + gate * (1.0 - sigmoid))", "(1.0 - gate * (1.0 - sigmoid))", OP, REFERENCE),
    (
        TRITON,
        "(1.0 + gate * (1.0 - sigmoid))",
        "(1.0 + gate * sigmoid)",
        OP,
        "gradients_follow_their_formulas",
    ),
    (TRITON, "g * gate * sigmoid, mask=inside", "g * sigmoid, mask=inside", OP, REFERENCE),
    (TRITON, "gate * sigmoid * up, mask=inside", "gate * sigmoid, mask=inside", OP, "up_scales"),
    (
        TRITON,
        "gate * sigmoid * up, mask=inside",
        "sigmoid * up, mask=inside",
        OP,
        "wide_open_and_shut_gates",
    ),
    # Rows of the other tensor's stride.
    (
        TRITON,
        "        left, right, out, left.stride(0), right.stride(0), len(left), **constants\n",
        "        left, right, out, right.shape[1], right.stride(0), len(left), **constants\n",
        OP,
        "halves_of_one_projection_will_do",
    ),
    # The last, partial block of a row left out.
    (
        TRITON,
        "runtime.cdiv(rows, height) * runtime.cdiv(width, columns)",
        "runtime.cdiv(rows, height) * max(1, width // columns)",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "runtime.cdiv(rows, height) * runtime.cdiv(width, columns)",
        "max(1, rows // height) * runtime.cdiv(width, columns)",
        OP,
        REFERENCE,
    ),
    (
        CPU,
        "return d_gate.to(gate.dtype), (held * g).to(up.dtype)",
        "return d_gate.to(gate.dtype), (held * up).to(up.dtype)",
        OP,
        "gradients_follow_their_formulas",
    ),
    (CPU, ".copy_(F.silu(block))", ".copy_(block)", OP, "wide_open_and_shut_gates"),
]
