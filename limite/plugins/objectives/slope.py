"""Losses whose derivative is written down beside them, in place of a graph that finds it."""

from __future__ import annotations

from typing import Any

import attrs
import torch
from torch import Tensor

from limite.core.types import TokenBatch


@attrs.frozen(kw_only=True, eq=False)
class TokenLoss:
    """What tokens cost, and how that changes with their log-probability; neither has a graph.

    Both are ``[B, T]`` and 0 where a token takes no part; or, ``of_rows``, ``[B, 1]`` and 0 where
    no token of a response does: it has one loss, which any of its tokens changes by the same.
    """

    value: Tensor
    slope: Tensor  # d value / d logp
    of_rows: bool = False

    @classmethod
    def of(cls, batch: TokenBatch, value: Tensor, slope: Tensor, flat: Tensor) -> TokenLoss:
        """Of both, ``[B, T]``, which are overwritten; ``flat`` says where the slope is 0."""
        value.masked_fill_(batch.inactive, 0.0)
        return cls(value=value, slope=slope.masked_fill_(flat | batch.inactive, 0.0))

    @classmethod
    def score(cls, batch: TokenBatch, slope: Tensor, out: Tensor | None = None) -> TokenLoss:
        """``out`` says where a token is left out, and ``slope logp`` what the others cost.

        All are ``[B, T]``; the slope is overwritten.
        """
        zero = batch.inactive if out is None else out | batch.inactive
        slope.masked_fill_(zero, 0.0)
        return cls(value=(slope * batch.logp.detach()).masked_fill_(zero, 0.0), slope=slope)

    def as_function_of(self, batch: TokenBatch, value: Tensor, divisor: Tensor | float) -> Tensor:
        """The sum ``value`` as a function of the tokens' log-probabilities."""
        inactive = batch.inactive if self.of_rows else None
        return with_slope(batch.logp, value, self.slope, divisor, inactive)


def with_slope(
    of: Tensor,
    value: Tensor,
    slope: Tensor,
    divisor: Tensor | float = 1.0,
    inactive: Tensor | None = None,
) -> Tensor:
    """``value`` as a function of ``of`` whose derivative is ``slope / divisor``.

    ``slope`` has the shape of ``of``, or is ``[B, 1]`` for all tokens of a row of which
    ``inactive [B, T]`` does not say that they take no part. ``value`` is a number, or one for every
    list of ``of [..., K]``. None of them may need a gradient.
    """
    apply = WithSlope.apply
    result: Tensor = apply(of, value, slope, divisor, inactive)  # type: ignore[no-untyped-call]
    return result


class WithSlope(torch.autograd.Function):
    """Numbers whose derivative is known."""

    @staticmethod
    def forward(
        ctx: Any,
        _of: Tensor,
        value: Tensor,
        slope: Tensor,
        divisor: Tensor | float,
        inactive: Tensor | None,
    ) -> Tensor:
        ctx.save_for_backward(slope, inactive)
        ctx.divisor = divisor
        return value

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None, None]:
        slope, inactive = ctx.saved_tensors
        above = upstream[0] / ctx.divisor  # small, or of one dimension less than the slope
        gradient = (above[..., None] if above.ndim == slope.ndim - 1 else above) * slope
        if inactive is not None:
            gradient = gradient.expand(inactive.shape).contiguous().masked_fill_(inactive, 0.0)
        return gradient, None, None, None, None
