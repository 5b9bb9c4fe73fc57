"""Sums of squares over tensors, compiled: in double precision, without a wide copy of any."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from limite.core.kernels.native.library import parts, run


def fit(tensors: Sequence[Tensor]) -> bool:
    """Whether ``joint_norm`` takes these."""
    return all(
        each.device.type == "cpu" and each.dtype == torch.float32 and each.is_contiguous()
        for each in tensors
    )


def joint_norm(tensors: Sequence[Tensor]) -> float:
    """The 2-norm of all elements."""
    found: list[Tensor] = []
    for each in tensors:
        bounds = parts(each.numel(), each.numel())
        sums = torch.empty(len(bounds) - 1, dtype=torch.float64, device="cpu")
        run("squares", bounds, each, sums)
        found.append(sums)
    # The exact sum of what is added: it does not depend on the order of the tensors.
    return math.sqrt(math.fsum(number for sums in found for number in sums.tolist()))
