"""The SwiGLU feed-forward part."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from limite.core.kernels.ops import swiglu
from limite.core.model.weights import Matrix


class MLP(nn.Module):
    """``down(silu(gate h) * up h)``.

    Gate and up are two products: as halves of one, neither would be contiguous, which costs the
    element-wise part on a CPU more than the second call.
    """

    def __init__(self, width: int, inner: int, dtype: torch.dtype, *, bias: bool = False) -> None:
        super().__init__()
        self.gate_proj = Matrix(inner, width, dtype, bias=bias)
        self.up_proj = Matrix(inner, width, dtype, bias=bias)
        self.down_proj = Matrix(width, inner, dtype, bias=bias)

    def forward(self, hidden: Tensor) -> Tensor:
        inner: Tensor = swiglu(self.gate_proj(hidden), self.up_proj(hidden))
        out: Tensor = self.down_proj(inner)
        return out
