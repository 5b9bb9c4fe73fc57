"""DPPO: a trust region on probabilities instead of ratios."""

from __future__ import annotations

import warnings

import attrs
import torch
from attrs.validators import and_, ge, gt, le, optional
from torch import Tensor

from limite.core.types import Aggregation, Metric, TokenBatch
from limite.core.validators import option
from limite.plugins.objectives.divergence import binary_divergence, topk_divergence
from limite.plugins.objectives.policy import PolicyObjective, aggregation
from limite.plugins.objectives.ratio import LogRatio, ratio_metrics
from limite.plugins.objectives.slope import TokenLoss

DEFAULT_DELTA = {"binary-tv": 0.15, "binary-kl": 0.05, "topk-tv": 0.15, "topk-kl": 0.05}
TOPK_COLUMNS = frozenset({"topk_logp", "behavior_topk_logp"})
SMALL_CAP = 5.0


@attrs.frozen(kw_only=True)
class DPPO(PolicyObjective):
    """Trust region on probabilities instead of ratios (DPPO, arXiv:2602.04879).

    ``loss[i,t] = -sg(min(r, ratio_cap)) keep A logp``. ``keep`` is 0 where ``A > 0``, ``p > mu``
    and ``D > delta_high``, or ``A < 0``, ``p < mu`` and ``D > delta_low``; ``mu`` and ``p`` are the
    sampled token's probabilities under behaviour and policy, ``D`` their divergence: over "this
    token or another", or over the likeliest tokens of behaviour. A token that comes back is always
    kept. The value of the loss means little; its gradient is what counts.
    """

    aggregation: Aggregation = aggregation("constant")
    divergence: str = attrs.field(default="binary-tv", validator=option(*DEFAULT_DELTA))
    topk: int = attrs.field(
        default=20,
        validator=and_(ge(1), le(1000)),
        metadata={"help": "likeliest tokens of behaviour on the lists of topk-tv and topk-kl"},
    )
    delta: float | None = attrs.field(
        default=None,
        validator=optional(gt(0.0)),
        metadata={"help": "largest divergence; without it 0.15 for total variation, 0.05 for KL"},
    )
    delta_low: float | None = attrs.field(
        default=None,
        validator=optional(gt(0.0)),
        metadata={"help": "in place of delta for tokens pushed down"},
    )
    delta_high: float | None = attrs.field(
        default=None,
        validator=optional(gt(0.0)),
        metadata={"help": "in place of delta for tokens pushed up"},
    )
    ratio_cap: float = attrs.field(
        default=20.0,
        validator=gt(0.0),
        metadata={"help": "most that a ratio may weigh; a guard against overflow"},
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if None not in (self.delta, self.delta_low, self.delta_high):
            raise ValueError(
                f"'delta' has no use where 'delta_low' and 'delta_high' are given, got {self.delta}"
            )
        if self.ratio_cap < SMALL_CAP:
            warnings.warn(
                f"ratio_cap {self.ratio_cap} is small: it biases the update against rare tokens",
                stacklevel=3,
            )

    @property
    def reads(self) -> frozenset[str]:
        lists = self.divergence.startswith("topk")
        columns = {"behavior_logp", "advantage"}
        return frozenset(columns | TOPK_COLUMNS if lists else columns)

    @property
    def thresholds(self) -> tuple[float, float]:
        """The largest divergence of tokens pushed down, and of tokens pushed up."""
        both = DEFAULT_DELTA[self.divergence] if self.delta is None else self.delta
        return (
            both if self.delta_low is None else self.delta_low,
            both if self.delta_high is None else self.delta_high,
        )

    def token_loss(self, batch: TokenBatch) -> tuple[TokenLoss, dict[str, Metric]]:
        moved, advantage = LogRatio.of(batch, self.overflow), batch.advantage
        ratio = weight = moved.ratio()
        masked = self._away(batch, moved.values)
        figures = {
            "ratio/masked_fraction": masked,
            "ratio/masked_fraction_positive": masked & (advantage > 0),
            "ratio/masked_fraction_of_signal": advantage != 0,
        }
        if moved.may_exceed(self.ratio_cap):
            weight = ratio.clamp(max=self.ratio_cap)
            figures["ratio/ratio_capped_fraction"] = (ratio > self.ratio_cap) & ~masked
        slope = (weight * advantage).neg_()  # [B, T]
        metrics = with_shares(ratio_metrics(batch, ratio, moved, figures))
        return TokenLoss.score(batch, slope, masked), metrics

    def distance(self, batch: TokenBatch) -> Tensor:
        """``[B, T]``, detached: the divergence between policy and behaviour."""
        if self.divergence.startswith("topk"):
            lists = batch.column("topk_logp").detach(), batch.column("behavior_topk_logp")
            return topk_divergence(*lists, self.divergence)
        return binary_divergence(batch.logp.detach(), batch.behavior_logp, self.divergence)

    def keep(self, batch: TokenBatch) -> Tensor:
        """``[B, T]`` bool: False where the update would move the token out of its region."""
        return ~self._away(batch, batch.logp.detach() - batch.behavior_logp)

    def _away(self, batch: TokenBatch, moved: Tensor) -> Tensor:
        """``[B, T]`` bool: tokens beyond their region that the update would move on.

        ``moved`` is how far they have come already, in nats.
        """
        low, high = self.thresholds
        distance = self.distance(batch)
        beyond = distance > high
        if low != high:
            beyond = torch.where(moved < 0, distance > low, beyond)
        # Of a sign, and not of how far: the product of two small numbers may be 0.
        return (moved.sign().mul_(batch.advantage) > 0) & beyond


def with_shares(metrics: dict[str, Metric]) -> dict[str, Metric]:
    """The masked shares that follow from others, and 0 for capped ratios that were not counted."""
    masked, up = metrics["ratio/masked_fraction"], metrics["ratio/masked_fraction_positive"]
    signal = metrics["ratio/masked_fraction_of_signal"].value
    capped = metrics.get("ratio/ratio_capped_fraction", attrs.evolve(masked, value=0.0))
    return metrics | {
        "ratio/masked_fraction_negative": attrs.evolve(masked, value=masked.value - up.value),
        "ratio/masked_fraction_of_signal": attrs.evolve(masked, weight=signal),
        "ratio/ratio_capped_fraction": capped,
    }
