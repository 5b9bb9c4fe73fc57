"""DPPO: a trust region on probabilities instead of ratios."""

from __future__ import annotations

import warnings

import attrs
from attrs.validators import and_, ge, gt, le, optional
from torch import Tensor

from limite.core.types import Aggregation, Metric, TokenBatch
from limite.core.validators import option
from limite.plugins.objectives.divergence import binary_divergence, topk_divergence
from limite.plugins.objectives.policy import PolicyObjective, aggregation
from limite.plugins.objectives.ratio import importance_ratio, ratio_metrics
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
        ratio, log_ratio = importance_ratio(batch, self.overflow)
        down, up = batch.advantage < 0, batch.advantage > 0  # [B, T] bool
        away_down, away_up = self._away(batch, log_ratio, down, up)
        masked = away_down | away_up
        weight = ratio.clamp(max=self.ratio_cap).masked_fill_(masked, 0.0)
        figures = {
            "ratio/masked_fraction": masked,
            "ratio/masked_fraction_positive": away_up,
            "ratio/masked_fraction_negative": away_down,
            "ratio/ratio_capped_fraction": (ratio > self.ratio_cap) & ~masked,
            "ratio/masked_fraction_of_signal": down | up,
        }
        metrics = ratio_metrics(batch, ratio, log_ratio, figures)
        signal = metrics["ratio/masked_fraction_of_signal"].value
        of_signal = attrs.evolve(metrics["ratio/masked_fraction"], weight=signal)
        metrics["ratio/masked_fraction_of_signal"] = of_signal
        slope = -(weight * batch.advantage)  # [B, T]
        return TokenLoss(value=slope * batch.logp, slope=slope), metrics

    def distance(self, batch: TokenBatch) -> Tensor:
        """``[B, T]``, detached: the divergence between policy and behaviour."""
        if self.divergence.startswith("topk"):
            lists = batch.column("topk_logp").detach(), batch.column("behavior_topk_logp")
            return topk_divergence(*lists, self.divergence)
        return binary_divergence(batch.logp.detach(), batch.behavior_logp, self.divergence)

    def keep(self, batch: TokenBatch) -> Tensor:
        """``[B, T]`` bool: False where the update would move the token out of its region."""
        moved = batch.logp.detach() - batch.behavior_logp
        away_down, away_up = self._away(batch, moved, batch.advantage < 0, batch.advantage > 0)
        return ~(away_down | away_up)

    def _away(
        self, batch: TokenBatch, moved: Tensor, down: Tensor, up: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Tokens that would leave their region downwards, and upwards, ``[B, T]`` bool each.

        ``moved`` is how far they have come already, in nats; ``down`` and ``up`` say where the
        update pushes them.
        """
        low, high = self.thresholds
        distance = self.distance(batch)
        beyond_high = distance > high
        beyond_low = beyond_high if low == high else distance > low
        return down & (moved < 0) & beyond_low, up & (moved > 0) & beyond_high
