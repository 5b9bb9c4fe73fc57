"""Sums of squares over tensors, compiled: in double precision, without a wide copy of any."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from limite.core.kernels.native.library import parts, refusal, run


def fit(tensors: Sequence[Tensor]) -> bool:
    """Whether ``joint_norm`` and ``distance`` take these here."""
    return (
        all(
            each.device.type == "cpu" and each.dtype == torch.float32 and each.is_contiguous()
            for each in tensors
        )
        and refusal() is None
    )


def joint_norm(tensors: Sequence[Tensor]) -> float:
    """The 2-norm of all elements."""
    return _root("squares", [(each,) for each in tensors])


def distance(after: Sequence[Tensor], before: Sequence[Tensor]) -> float:
    """The 2-norm of all differences."""
    return _root("squared_differences", list(zip(after, before, strict=True)))


def _root(name: str, several: Sequence[tuple[Tensor, ...]]) -> float:
    found: list[Tensor] = []
    for each in several:
        count = each[0].numel()
        bounds = parts(count, count)
        sums = torch.empty(len(bounds) - 1, dtype=torch.float64, device="cpu")
        run(name, bounds, *each, sums)
        found.append(sums)
    return math.sqrt(math.fsum(number for sums in found for number in sums.tolist()))
