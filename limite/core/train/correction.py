"""Correcting for a learner that does not give tokens the probabilities they were sampled with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
from attrs.validators import and_, gt, le, optional

from limite.core.types import Metric
from limite.core.validators import option

if TYPE_CHECKING:
    from torch import Tensor

LARGEST_LOG_WEIGHT = 20.0  # nats
SMALLEST_MEAN = 1e-8


@attrs.frozen(kw_only=True)
class Correction:
    """Weights for the losses of tokens, from learner against sampler at the same weights.

    The raw weight of a token is ``exp(d)``, with ``d`` the log-probability the learner gives it
    before the first update less the recorded one; of a whole response the exponential of the sum
    (``sequence``) or of the mean (``sequence-mean``) of ``d``. ``truncate`` cuts weights at
    ``upper`` (TIS), ``mask`` lets those outside ``lower`` and ``upper`` count nothing (MIS).
    """

    level: str = attrs.field(
        default="token",
        validator=option("token", "sequence", "sequence-mean"),
        metadata={"help": "what a weight is taken over"},
    )
    mode: str = attrs.field(
        default="truncate",
        validator=option("truncate", "mask"),
        metadata={"help": "what happens to weights out of range"},
    )
    upper: float = attrs.field(
        default=2.0, validator=and_(gt(0.0), le(1e8)), metadata={"help": "the largest weight"}
    )
    lower: float | None = attrs.field(
        default=None,
        validator=optional(and_(gt(0.0), le(1e8))),
        metadata={"help": "the least weight that counts; for mode 'mask'"},
    )
    normalise: bool = attrs.field(
        default=False, metadata={"help": "divide by the mean weight of the update"}
    )

    def __attrs_post_init__(self) -> None:
        if self.mode == "mask" and self.lower is None:
            raise ValueError("'lower' must be given with mode 'mask'")
        if self.mode == "truncate" and self.lower is not None:
            raise ValueError("'lower' is for mode 'mask'; truncation cuts large weights alone")
        if self.lower is not None and self.lower > self.upper:
            raise ValueError(f"'lower' must be at most 'upper', got {self.lower} and {self.upper}")

    def raw(self, log_ratio: Tensor, mask: Tensor) -> Tensor:
        """``[B, T]`` float64 weights of ``d [B, T]`` in nats, 0 where ``mask`` does not hold."""
        import torch

        kept = log_ratio.detach().double().masked_fill(~mask, 0.0)
        if self.level == "sequence":
            kept = kept.sum(dim=-1, keepdim=True).expand_as(kept)
        elif self.level == "sequence-mean":
            lengths = mask.sum(dim=-1, keepdim=True).clamp(min=1)
            kept = (kept.sum(dim=-1, keepdim=True) / lengths).expand_as(kept)
        weights = torch.exp(kept.clamp(-LARGEST_LOG_WEIGHT, LARGEST_LOG_WEIGHT))
        return weights.masked_fill(~mask, 0.0)

    def applied(self, raw: Tensor) -> Tensor:
        """What of the raw weights counts."""
        if self.mode == "truncate":
            return raw.clamp(max=self.upper)
        assert self.lower is not None
        return raw.masked_fill((raw < self.lower) | (raw > self.upper), 0.0)

    def mean(self, rows: Sequence[Sequence[float]]) -> float:
        """The mean weight over the active tokens of an update (its responses, for sequences)."""
        if self.level == "token":
            weights = [weight for row in rows for weight in row]
        else:
            weights = [row[0] for row in rows if row]
        return sum(weights) / len(weights) if weights else 0.0

    def metrics(self, raw: Tensor, applied: Tensor, mask: Tensor) -> dict[str, Metric]:
        """Statistics of the weights of active tokens; of raw and of applied ones, apart."""
        import torch

        count = float(mask.sum())
        found: dict[str, Metric] = {}
        for name, weights in (("raw", raw[mask]), ("applied", applied[mask])):
            ends = torch.aminmax(weights) if count else (raw.new_zeros(()), raw.new_zeros(()))
            smallest, largest = (float(end) for end in ends)
            found[f"correction/{name}_mean"] = Metric(
                how="mean", value=float(weights.sum()), weight=count
            )
            found[f"correction/{name}_min"] = Metric(how="min", value=smallest, weight=count)
            found[f"correction/{name}_max"] = Metric(how="max", value=largest, weight=count)
        above = float((raw[mask] > self.upper).sum())
        found["correction/above_share"] = Metric(how="mean", value=above, weight=count)
        if self.lower is not None:
            below = float((raw[mask] < self.lower).sum())
            found["correction/below_share"] = Metric(how="mean", value=below, weight=count)
        return found
