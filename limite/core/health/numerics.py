"""Execution health: losses and gradients are finite, or no optimizer step is taken.

This says that the arithmetic went well, never that the model improved.
"""

from __future__ import annotations

import math

from limite.core.errors import RunFailed


def check_loss(value: float, *, where: str = "") -> None:
    """Refuse a loss that is not finite, before the optimizer step."""
    if not math.isfinite(value):
        raise RunFailed(
            f"the loss{_at(where)} is {value}; no optimizer step was taken and the weights are as "
            "they were"
        )


def check_gradient_norm(norm: float, *, where: str = "") -> None:
    """Refuse a gradient norm that is not finite, before the optimizer step."""
    if not math.isfinite(norm):
        raise RunFailed(
            f"the gradient norm{_at(where)} is {norm}; no optimizer step was taken and the weights "
            "are as they were"
        )


def _at(where: str) -> str:
    return f" of {where}" if where else ""
