"""The weighted average of tensors: summed in float64, rounded once."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from limite.core.errors import LimiteError

SUM_TOLERANCE = 1e-6
"""How far weights that people write may be from summing to 1."""

EXACT_SUM = 1e-12
"""How far a sum may be off by the rounding of its terms alone."""


def uniform(count: int) -> tuple[float, ...]:
    """Equal weights."""
    return (1.0 / count,) * count


def checked_weights(weights: Sequence[float], count: int, option: str) -> tuple[float, ...]:
    """Weights that sum to 1, not one of them negative.

    Those that miss 1 by less than a millionth are divided by their sum; all others are refused,
    because which of them was meant differently is not known.
    """
    if len(weights) != count:
        raise LimiteError(f"{option}: expected {count}, one for each model, got {len(weights)}")
    for number, weight in enumerate(weights, start=1):
        if not math.isfinite(weight) or weight < 0:
            raise LimiteError(
                f"{option}: expected numbers of at least 0, got {weight:g} (number {number}); an "
                "average lies among its models"
            )
    total = math.fsum(weights)
    if abs(total - 1.0) > SUM_TOLERANCE:
        if not total:
            raise LimiteError(f"{option}: expected numbers that sum to 1, got none above 0")
        scaled = ",".join(f"{weight / total:.6g}" for weight in weights)
        raise LimiteError(
            f"{option}: expected numbers that sum to 1, these sum to {total:.9g}; in the same "
            f"proportions that is {scaled}"
        )
    if abs(total - 1.0) <= EXACT_SUM:
        return tuple(weights)
    return tuple(weight / total for weight in weights)


def average(tensors: Sequence[Tensor], weights: Sequence[float], dtype: torch.dtype) -> Tensor:
    """``sum(weight * tensor)`` of equal shapes and dtypes, in the order given.

    Terms are multiplied and added in float64, whatever the tensors are; the sum is rounded once to
    ``dtype``, to the nearest, halves to even. A tensor of weight 0 is left out. Equal tensors give
    themselves, bit for bit. Integers and bools have no average: they must be equal.
    """
    first = tensors[0]
    same = [torch.equal(_bits(first), _bits(other)) for other in tensors[1:]]
    if not first.is_floating_point():
        if not all(same):
            raise LimiteError(f"values of {first.dtype} must be equal to be averaged")
        return first.clone()
    taken = [(tensor, weight) for tensor, weight in zip(tensors, weights, strict=True) if weight]
    if all(same):
        return rounded(taken[0][0].double(), dtype)
    total = taken[0][0].double() * taken[0][1]
    for tensor, weight in taken[1:]:
        total += tensor.double() * weight
    if first.dtype == torch.float64:
        # Weights are rounded, so their sum may miss 1; narrower dtypes never see by how little.
        agreed = torch.stack([tensor == taken[0][0] for tensor, _ in taken]).all(0)
        total = torch.where(agreed, taken[0][0], total)
    return rounded(total, dtype)


def widened(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """Tensors of several dtypes in the narrowest that holds the values of all of them."""
    wide = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    return [tensor if tensor.dtype == wide else tensor.to(wide) for tensor in tensors]


def rounded(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Float64 ``values`` in ``dtype``, rounded once to the nearest, halves to even.

    Torch rounds to float32 on the way to anything narrower, and a value that this puts half-way
    between two neighbours would be rounded wrongly then. So the step to float32 is rounded to odd:
    an inexact value takes the neighbour whose last bit is set, which is half-way to nothing.
    """
    if dtype == torch.float64:
        return values.clone()
    near = values.to(torch.float32)
    if dtype == torch.float32:
        return near
    exact = (near.double() == values) | ~values.isfinite()
    odd = (near.view(torch.int32) & 1).bool()
    toward = torch.where(values > near, math.inf, -math.inf).float()
    return torch.where(exact | odd, near, torch.nextafter(near, toward)).to(dtype)


def _bits(tensor: Tensor) -> Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)
