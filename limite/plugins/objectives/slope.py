"""Losses whose derivative is written down beside them, in place of a graph that finds it."""

from __future__ import annotations

from typing import Any

import attrs
import torch
from torch import Tensor


@attrs.frozen(kw_only=True, eq=False)
class TokenLoss:
    """What tokens cost, and how that changes with their log-probability; neither has a graph.

    Both are ``[B, T]``; or ``[B, 1]`` where a response has one loss, which a change of any of its
    tokens changes by the same. What they hold where a token takes no part does not matter, and is
    overwritten.
    """

    value: Tensor
    slope: Tensor  # d value / d logp


def with_slope(of: Tensor, value: Tensor, slope: Tensor, divisor: Tensor | float = 1.0) -> Tensor:
    """``value`` as a function of ``of`` whose derivative is ``slope / divisor``.

    ``slope`` has the shape of ``of``. ``value`` is a number, or one for every list of ``of [...,
    K]``. None of them may need a gradient.
    """
    result: Tensor = WithSlope.apply(of, value, slope, divisor)  # type: ignore[no-untyped-call]
    return result


class WithSlope(torch.autograd.Function):
    """Numbers whose derivative is known."""

    @staticmethod
    def forward(
        ctx: Any, _of: Tensor, value: Tensor, slope: Tensor, divisor: Tensor | float
    ) -> Tensor:
        ctx.save_for_backward(slope)
        ctx.divisor = divisor
        return value

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None]:
        (slope,) = ctx.saved_tensors
        above = upstream[0] / ctx.divisor  # small, or of one dimension less than the slope
        return (
            (above[..., None] if above.ndim == slope.ndim - 1 else above) * slope,
            None,
            None,
            None,
        )
