"""SwiGLU in few passes of plain torch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.reference.rms_norm import widened

BLOCK = 32
"""Elements that torch works through at a time, on any processor, or a multiple of those."""

FEW = 1 << 18
"""Elements up to which a few calls on all of them are fastest."""

NEAR = 1 << 16
"""Elements of each thread that are worked through together where there are more."""


def silu(values: Tensor) -> Tensor:
    """``x / (1 + e^-x)``, with the same bits wherever among the values one lies.

    Not so torch's own operator, on a CPU: what remains after the last whole block is computed in
    another way, and a row would depend, in its last bits, on how many rows there are. Here that
    part is computed once more, as the end of a whole block. Where there are only a few values, that
    costs more than the plain formula: 4.4 times for one row of 176, 1.2 times for 16.
    """
    if torch.get_num_threads() > 1:  # each has a part, with remains of its own
        return torch.div(values, values.neg().exp_().add_(1.0))
    values = values.contiguous()
    result = F.silu(values)
    count = values.numel()
    if count % BLOCK == 0:
        return result
    if count < BLOCK:
        block = F.pad(values.flatten(), (0, BLOCK - count))
        return F.silu(block)[:count].view(values.shape)
    first = count - BLOCK
    block = values.as_strided((BLOCK,), (1,), values.storage_offset() + first)
    result.as_strided((BLOCK,), (1,), first).copy_(F.silu(block))
    return result


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
    if torch.compiler.is_compiling():  # the compiler makes one pass of it
        return swiglu_forward(gate, up)[0]
    if gate.numel() > FEW:
        return _by_parts(gate, up)
    if gate.dtype.itemsize >= 4:
        return silu(gate).mul_(up)
    return silu(gate.float()).mul_(up).to(gate.dtype)


def _by_parts(gate: Tensor, up: Tensor) -> Tensor:
    """The same, so many rows at a time that both steps find them near the processor."""
    result = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    width = gate.shape[-1]
    rows = max(1, NEAR * torch.get_num_threads() // width)
    parts = (each.reshape(-1, width).split(rows) for each in (gate, up, result))
    for some_gate, some_up, some in zip(*parts, strict=True):
        torch.mul(silu(widened(some_gate)), some_up, out=some)
    return result
