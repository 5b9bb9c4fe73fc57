"""SwiGLU as its formula says."""

from __future__ import annotations

from torch import Tensor

from limite.core.kernels.reference.rms_norm import widened


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """``gate sigmoid(gate) up``, rounded once."""
    wide = widened(gate)
    return (wide * wide.sigmoid() * widened(up)).to(gate.dtype)
