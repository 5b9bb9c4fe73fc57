"""Clipping gradients by their global norm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

from limite.core.health.numerics import check_gradient_norm
from limite.core.train.norms import joint_norm

Norm = Callable[[Sequence[nn.Parameter], Sequence[Tensor]], float]
"""The joint norm of tensors, which are shaped as parameters are."""


@torch.no_grad()
def clip_gradient_norm(
    parameters: Iterable[nn.Parameter],
    limit: float,
    *,
    where: str = "",
    norm: Norm = lambda _, tensors: joint_norm(tensors),
) -> float:
    """Scale all gradients so that their joint norm is at most ``limit``; the norm before.

    A norm that is not finite raises RunFailed, which says ``where``, with gradients and weights as
    they were. ``norm`` takes the joint norm, where gradients are parts of others'.
    """
    moved = [parameter for parameter in parameters if parameter.grad is not None]
    gradients = [parameter.grad for parameter in moved if parameter.grad is not None]
    found = norm(moved, gradients)
    check_gradient_norm(found, where=where)
    if found > limit:
        torch._foreach_mul_(gradients, limit / found)
    return found
