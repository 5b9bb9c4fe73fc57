"""The SwiGLU feed-forward part."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from limite.core.model.norm import widened
from limite.core.model.weights import Matrix


class _SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, both: Tensor) -> Tensor:
        ctx.save_for_backward(both)
        gate, up = both.chunk(2, dim=-1)
        if both.dtype.itemsize < 4:
            return F.silu(gate.float()).to(both.dtype) * up
        # Three passes, yet faster than F.silu, whose division does not vectorise well.
        return gate.sigmoid().mul_(gate).mul_(up)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (both,) = ctx.saved_tensors
        gate, up = widened(both).chunk(2, dim=-1)
        wide = widened(gradient)
        sigmoid = gate.sigmoid()
        silu = sigmoid * gate
        change = torch.empty_like(both, dtype=wide.dtype)
        d_gate, d_up = change.chunk(2, dim=-1)
        torch.mul(wide, silu, out=d_up)
        # silu' = sigmoid + silu (1 - sigmoid)
        slope = silu.addcmul_(silu, sigmoid, value=-1).add_(sigmoid)
        torch.mul(wide, up, out=d_gate)
        d_gate.mul_(slope)
        return change.to(both.dtype)


def swiglu(both: Tensor) -> Tensor:
    """``silu(gate) * up`` of ``[N, 2F]``, gate at the left; silu in float32."""
    result: Tensor = _SwiGLU.apply(both)
    return result


class MLP(nn.Module):
    """``down(silu(gate h) * up h)``, gate and up as one product."""

    def __init__(self, width: int, inner: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.gate_proj = Matrix(inner, width, dtype)
        self.up_proj = Matrix(inner, width, dtype)
        self.down_proj = Matrix(width, inner, dtype)

    def gate_and_up(self) -> Tensor:
        return torch.cat((self.gate_proj.weight, self.up_proj.weight))  # [2F, width]

    def forward(self, hidden: Tensor) -> Tensor:
        return F.linear(swiglu(F.linear(hidden, self.gate_and_up())), self.down_proj.weight)
