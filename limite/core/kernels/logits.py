"""What implementations of the head share: how logits come about, and how parts of a sum join."""

from __future__ import annotations

import attrs
import torch
from torch import Tensor

SAFE_BOUND = 60.0
"""Logits between 0 and this need no maximum: their exponentials can be summed in float32."""


@attrs.frozen
class Settings:
    """How logits are made from the product of hidden states and weight."""

    cap: tuple[float, float, float] | None
    temperature: float
    round_logits: str | None

    @property
    def bounded(self) -> bool:
        return self.cap is not None and self.cap[0] / self.temperature <= SAFE_BOUND

    @property
    def scale(self) -> float:
        """What the product is multiplied with: for the sigmoid, or to be the logits."""
        return 1.0 / (self.temperature if self.cap is None else self.cap[2])

    @property
    def shift(self) -> float:
        """What is then added."""
        return 0.0 if self.cap is None else self.cap[1] / self.cap[2]

    @property
    def height(self) -> float:
        """What sigmoids are multiplied with to be logits; 1 without a cap."""
        return 1.0 if self.cap is None else self.cap[0] / self.temperature

    @property
    def slope(self) -> float:
        """``d logit / d product``, but for the sigmoid's ``s (1 - s)`` where there is a cap."""
        return self.height * self.scale

    def logits(self, product: Tensor) -> Tensor:
        """Logits of a product."""
        logits = product if self.scale == 1 else product * self.scale
        return logits if self.cap is None else (logits + self.shift).sigmoid() * self.height

    def bend(self, product: Tensor) -> Tensor | float:
        """What of ``d logit / d product`` is not constant."""
        if self.cap is None:
            return 1.0
        sigmoid = (product * self.scale + self.shift).sigmoid()
        return sigmoid - sigmoid * sigmoid


def joined(
    totals: Tensor, sums: Tensor | None, tops: Tensor | float
) -> tuple[Tensor, Tensor | None]:
    """Log-sum-exp ``[N]`` and entropy ``[N]`` of logits of which parts ``[P, N]`` are known.

    Of each part: its ``tops``, ``totals = sum exp(z - top)``, and, for the entropy,
    ``sums = sum exp(z - top) (z - top)``.
    """
    if isinstance(tops, float):
        total = totals.sum(0)
        lse = total.log() + tops
        return lse, None if sums is None else total.log() - sums.sum(0) / total
    top = tops.amax(0)
    below = tops - top
    weights = below.exp()
    total = (weights * totals).sum(0)
    lse = top + total.log()
    if sums is None:
        return lse, None
    return lse, total.log() - (weights * (sums + below * totals)).sum(0) / total


def pulls(
    settings: Settings,
    index: Tensor,
    entropy: Tensor | None,
    lse: Tensor,
    d_logp: Tensor | None,
    d_entropy: Tensor | None,
    d_lse: Tensor | None,
) -> tuple[Tensor, Tensor | None]:
    """``a`` and ``b [N]`` with ``d z = p (a + b log p)``, but for what the indexed logits get.

    Both times the slope. ``d entropy / d logit = -p (log p + entropy)``.
    """
    pull = torch.zeros_like(lse)
    if d_logp is not None:
        pull -= d_logp.masked_fill(index < 0, 0.0).sum(-1)
    if d_lse is not None:
        pull += d_lse
    if d_entropy is None or entropy is None:
        return pull * settings.slope, None
    pull -= d_entropy * entropy
    return pull * settings.slope, d_entropy * -settings.slope
