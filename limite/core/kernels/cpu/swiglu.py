"""SwiGLU in few passes of plain torch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.reference.rms_norm import widened

FEW = 1 << 18
"""Elements up to which a few calls on all of them are fastest."""

NEAR = 1 << 16
"""Elements of each thread that are worked through together where there are more."""


def silu(values: Tensor) -> Tensor:
    """``x / (1 + e^-x)``.

    Spelt out because the operator of that name, on a CPU, gives an element other last bits when it
    lies in the remainder of a vector: a row would then depend on how many rows there are.
    """
    return torch.div(values, values.neg().exp_().add_(1.0))


def swiglu_forward(gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    """The result, and ``silu(gate)``, wide: held for the backward pass, which it makes faster."""
    held = F.silu(widened(gate))
    return (held * up).to(gate.dtype), held


def swiglu_backward(
    gradient: Tensor, gate: Tensor, up: Tensor, held: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of ``gate`` and ``up``."""
    g = widened(gradient)
    d_gate = g * up
    torch.ops.aten.silu_backward(d_gate, widened(gate), grad_input=d_gate)
    return d_gate.to(gate.dtype), (held * g).to(up.dtype)


class _SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        result, held = swiglu_forward(gate, up)
        ctx.save_for_backward(gate, up, held)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return swiglu_backward(gradient, *ctx.saved_tensors)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """``silu(gate) * up``, rounded once."""
    if torch.is_grad_enabled():  # learning minds speed more than a row's last bit
        result: Tensor = _SwiGLU.apply(gate, up)  # type: ignore[no-untyped-call]
        return result
    if gate.numel() <= FEW or torch.compiler.is_compiling():  # the compiler makes one pass of it
        if gate.dtype.itemsize >= 4:
            return silu(gate).mul_(up)
        return silu(gate.float()).mul_(up).to(gate.dtype)
    return _by_parts(gate, up)


def _by_parts(gate: Tensor, up: Tensor) -> Tensor:
    """The same, so many rows at a time that all steps find them near the processor."""
    result = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    width = gate.shape[-1]
    rows = max(1, NEAR * torch.get_num_threads() // width)
    parts = (each.reshape(-1, width).split(rows) for each in (gate, up, result))
    for some_gate, some_up, some in zip(*parts, strict=True):
        if gate.dtype.itemsize >= 4:
            torch.neg(some_gate, out=some).exp_().add_(1.0)
            torch.div(some_gate, some, out=some).mul_(some_up)
        else:
            torch.mul(silu(some_gate.float()), some_up, out=some)
    return result
