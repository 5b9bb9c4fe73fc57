"""Root-mean-square normalisation without a weight."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

EPSILON = 2.0**-23
"""Inside the square root, in every dtype: the float32 machine epsilon."""


def widened(values: Tensor) -> Tensor:
    """Half precision as float32; float32 and float64 as they are."""
    return values if values.dtype.itemsize >= 4 else values.float()


def inverse_rms(values: Tensor) -> Tensor:
    """``(mean(x^2) + eps)^-1/2`` over the last axis, kept as an axis of 1."""
    norm = torch.linalg.vector_norm(values, dim=-1, keepdim=True)
    epsilon = _epsilon(norm.dtype, norm.device)
    return torch.addcmul(epsilon, norm, norm, value=1.0 / values.shape[-1]).rsqrt_()


@functools.cache
def _epsilon(dtype: torch.dtype, device: torch.device) -> Tensor:
    """As a tensor: a Python number would be made into one at every call."""
    with torch.inference_mode(False):  # it outlives the caller's mode
        return torch.tensor(EPSILON, dtype=dtype, device=device)


def rms_norm_backward(gradient: Tensor, values: Tensor, inverse: Tensor) -> Tensor:
    """The gradient of ``x * inverse_rms(x)``: ``r (g - y mean(g y))`` with ``y = r x``."""
    share = (gradient * values).sum(-1, keepdim=True)
    share.mul_(inverse * inverse * inverse).mul_(1.0 / values.shape[-1])
    return (gradient * inverse).addcmul_(values, share, value=-1)


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        wide = widened(values)
        inverse = inverse_rms(wide)
        ctx.save_for_backward(values, inverse)
        return (wide * inverse).to(values.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        values, inverse = ctx.saved_tensors
        change = rms_norm_backward(widened(gradient), widened(values), inverse)
        return change.to(gradient.dtype)


def rms_norm(values: Tensor) -> Tensor:
    """``x / sqrt(mean(x^2) + 2^-23)`` over the last axis, in float32, rounded once."""
    result: Tensor = _RMSNorm.apply(values)  # type: ignore[no-untyped-call]
    return result
