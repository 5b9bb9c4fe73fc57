"""The SwiGLU feed-forward part."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from limite.core.model.norm import widened
from limite.core.model.weights import Matrix


def silu(values: Tensor) -> Tensor:
    """``x / (1 + e^-x)``, in float32 for half precision, rounded once.

    Spelt out because the operator of that name, on a CPU, gives an element other last bits when it
    lies in the remainder of a vector: a row would then depend on how many rows there are.
    """
    if values.dtype.itemsize < 4:
        return F.silu(values.float()).to(values.dtype)
    return values / values.neg().exp_().add_(1.0)


class _SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        return silu(gate).mul_(up)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        gate, up = ctx.saved_tensors
        wide, d_up = widened(gate), F.silu(widened(gate)).mul_(gradient)
        d_gate = torch.ops.aten.silu_backward(widened(gradient * up), wide)
        return d_gate.to(gate.dtype), d_up.to(up.dtype)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """``silu(gate) * up``."""
    result: Tensor = _SwiGLU.apply(gate, up)  # type: ignore[no-untyped-call]
    return result


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
