"""Clipping gradients by their global norm."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from limite.core.health.numerics import check_gradient_norm
from limite.core.train.norms import joint_norm


@torch.no_grad()
def clip_gradient_norm(
    parameters: Iterable[nn.Parameter], limit: float, *, where: str = ""
) -> float:
    """Scale all gradients so that their joint norm is at most ``limit``; the norm before.

    A norm that is not finite raises RunFailed, which says ``where``, with gradients and weights as
    they were.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = joint_norm(gradients)
    check_gradient_norm(norm, where=where)
    if norm > limit:
        torch._foreach_mul_(gradients, limit / norm)
    return norm
