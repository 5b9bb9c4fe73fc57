"""SwiGLU, compiled: one pass forward, one backward, nothing kept between them but the inputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.native.library import dense, parts, run

WORK = 4
"""Times as long as what ``parts`` counts in, for an element."""


def _rows(tensor: Tensor) -> tuple[Tensor, int]:
    """A tensor of rows at one stride, and that; a copy where they do not lie so."""
    if tensor.dim() == 2 and tensor.stride(1) == 1:  # as halves of one tensor do
        return tensor, tensor.stride(0)
    return tensor.contiguous(), tensor.shape[-1]


def swiglu_forward(gate: Tensor, up: Tensor) -> Tensor:
    """``silu(gate) * up``."""
    result = gate.new_empty(gate.shape)
    width, count = gate.shape[-1], gate.numel()
    gate, gate_stride = _rows(gate)
    up, up_stride = _rows(up)
    bounds = parts(count // width, count * WORK)
    run("swiglu", bounds, gate, gate_stride, up, up_stride, result, width)
    return result


def swiglu_backward(gradient: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of ``gate`` and ``up``."""
    d_gate, d_up = gate.new_empty(gate.shape), gate.new_empty(gate.shape)
    width, count = gate.shape[-1], gate.numel()
    gate, gate_stride = _rows(gate)
    up, up_stride = _rows(up)
    bounds = parts(count // width, 2 * count * WORK)
    given = dense(gradient)
    run("swiglu_backward", bounds, given, gate, gate_stride, up, up_stride, d_gate, d_up, width)
    return d_gate, d_up


class _SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        return swiglu_forward(gate, up)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return swiglu_backward(gradient, *ctx.saved_tensors)


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """``silu(gate) * up``."""
    if torch.is_grad_enabled() and (gate.requires_grad or up.requires_grad):
        result: Tensor = _SwiGLU.apply(gate, up)  # type: ignore[no-untyped-call]
        return result
    return swiglu_forward(gate, up)
