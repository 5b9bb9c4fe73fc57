"""Parameters that wait for their values."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def unset(*shape: int, dtype: torch.dtype = torch.float32) -> nn.Parameter:
    """A parameter without values yet; see ``limite.core.model.init``."""
    return nn.Parameter(torch.empty(shape, dtype=dtype))


def small_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of scalars, gates and mixing weights beside matrices of ``dtype``."""
    return dtype if dtype.itemsize >= 4 else torch.float32


class Matrix(nn.Module):
    """A weight ``[rows, columns]``: a projection (output by input) or a table.

    With ``bias`` a projection adds a vector ``[rows]``; Limite's have none.
    """

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(self, rows: int, columns: int, dtype: torch.dtype, *, bias: bool = False) -> None:
        super().__init__()
        self.weight = unset(rows, columns, dtype=dtype)
        self.bias = unset(rows, dtype=dtype) if bias else None

    def forward(self, inputs: Tensor) -> Tensor:
        """``inputs [..., columns]``, projected: ``[..., rows]``."""
        return F.linear(inputs, self.weight, self.bias)


class Gain(nn.Module):
    """The weight ``[width]`` of a norm."""

    weight: nn.Parameter

    def __init__(self, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = unset(width, dtype=dtype)


def folded(scale: Tensor, weight: Tensor) -> Tensor:
    """``scale * weight`` with the scalar rounded to the weight's dtype first."""
    return scale.to(weight.dtype) * weight
