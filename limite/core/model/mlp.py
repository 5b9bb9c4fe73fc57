"""The SwiGLU feed-forward part."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from limite.core.kernels.ops import swiglu
from limite.core.model.weights import Matrix


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
