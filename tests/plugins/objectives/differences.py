"""Derivatives held to differences of values."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

STEP = 1e-6
# Differences of values near 1 keep half of float64's digits.
LARGEST_ERROR = 1e-7


def require_gradient(of: Callable[[Tensor], Tensor], at: Tensor) -> None:
    """The gradient of ``of`` at a float64 tensor must be what values a small step away say.

    They are taken along one direction in which every coordinate has another share, so that one that
    is wrong, missing, or in another's place shows.
    """
    leaf = at.clone().requires_grad_()
    torch.autograd.backward(of(leaf))
    assert leaf.grad is not None
    # Square roots of whole numbers: no sum of a few of them is 0 by chance.
    places = torch.arange(1, at.numel() + 1, dtype=torch.float64).reshape(at.shape)
    signs = torch.where(places.remainder(3) == 0, -1.0, 1.0)
    direction = places.sqrt() * signs
    direction = direction / direction.norm()
    with torch.no_grad():
        ahead, behind = (float(of(at + way * direction)) for way in (STEP, -STEP))
    found, expected = float((leaf.grad * direction).sum()), (ahead - behind) / (2 * STEP)
    assert abs(found - expected) <= LARGEST_ERROR * (1 + abs(expected)), (found, expected)
