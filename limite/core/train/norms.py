"""The norm of many tensors together, as if they were one vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from limite.core.kernels import dispatch
from limite.core.kernels.native import norms as native


@torch.no_grad()
def joint_norm(tensors: Sequence[Tensor]) -> float:
    """Their 2-norm, summed in float64: neither bfloat16 rounding nor overflow can reach it."""
    if not tensors:
        return 0.0
    if native.fit(tensors) and dispatch.compiled(tensors[0]):
        return native.joint_norm(tensors)
    norms = torch._foreach_norm(list(tensors), 2, dtype=torch.float64)
    device = norms[0].device
    return float(torch.linalg.vector_norm(torch.stack([each.to(device) for each in norms])))


@torch.no_grad()
def distance(
    after: Sequence[Tensor],
    before: list[Tensor],
    norm: Callable[[Sequence[Tensor]], float] = joint_norm,
) -> float:
    """The norm of how far tensors have moved. ``before`` is used up: it holds the differences."""
    if before:
        torch._foreach_sub_(before, list(after))
    return norm(before)
