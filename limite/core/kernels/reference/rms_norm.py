"""The norm and the residual join as their formulas say."""

from __future__ import annotations

import torch
from torch import Tensor


def widened(values: Tensor) -> Tensor:
    """Half precision as float32; float32 and float64 as they are."""
    return values if values.dtype.itemsize >= 4 else values.float()


def cast(values: Tensor, dtype: torch.dtype) -> Tensor:
    """``values.to(dtype)`` without the price of a call that changes nothing."""
    return values if values.dtype == dtype else values.to(dtype)


def rms_norm(x: Tensor, weight: Tensor | None, *, eps: float) -> Tensor:
    """``x (mean(x^2) + eps)^-1/2``, times ``weight``, rounded once."""
    wide = widened(x)
    normal = wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt()
    return (normal if weight is None else normal * weight.to(wide.dtype)).to(x.dtype)


def add_rms_norm(
    a: Tensor,
    b: Tensor,
    *,
    keep: Tensor | None,
    add: Tensor | None,
    weight: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """``keep a + add b``, the scalars rounded to the dtype of ``a`` first, and its norm."""
    total = (_times(a, keep) + _times(b, add)).to(a.dtype)
    return total, rms_norm(total, weight, eps=eps)


def _times(values: Tensor, scalar: Tensor | None) -> Tensor:
    wide = widened(values)
    return wide if scalar is None else wide * scalar.to(values.dtype).to(wide.dtype).reshape(())
