"""The SwiGLU feed-forward part."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from limite.core.model.weights import Matrix


def silu(values: Tensor) -> Tensor:
    """``x / (1 + e^-x)``, in float32 for half precision, rounded once.

    Spelt out because the operator of that name, on a CPU, gives an element other last bits when it
    lies in the remainder of a vector: a row would then depend on how many rows there are.
    """
    if values.dtype.itemsize < 4:
        return F.silu(values.float()).to(values.dtype)
    return values.neg().exp_().add_(1.0).reciprocal_().mul_(values)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """``silu(gate) * up``."""
    if torch.is_grad_enabled():  # learning minds speed more than a row's last bit
        return F.silu(gate) * up
    return silu(gate).mul_(up)


class MLP(nn.Module):
    """``down(silu(gate h) * up h)``.

    Gate and up are two products: as halves of one, neither would be contiguous, which costs the
    element-wise part on a CPU more than the second call.
    """

    def __init__(self, width: int, inner: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.gate_proj = Matrix(inner, width, dtype)
        self.up_proj = Matrix(inner, width, dtype)
        self.down_proj = Matrix(width, inner, dtype)

    def forward(self, hidden: Tensor) -> Tensor:
        gate = F.linear(hidden, self.gate_proj.weight)
        up = F.linear(hidden, self.up_proj.weight)
        return F.linear(swiglu(gate, up), self.down_proj.weight)
