"""CISPO: every token learns, with a weight that is cut instead of its gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from attrs.validators import ge, gt

from limite.core.types import Aggregation, Metric, TokenBatch
from limite.plugins.objectives.policy import PolicyObjective, aggregation
from limite.plugins.objectives.ratio import LogRatio, ratio_metrics
from limite.plugins.objectives.slope import TokenLoss


@attrs.frozen(kw_only=True)
class CISPO(PolicyObjective):
    """Detached importance weights, cut to a range (CISPO, arXiv:2506.13585).

    ``loss[i,t] = -sg(clip(r, ratio_min, ratio_max)) A logp``. Both bounds are ratios themselves,
    not distances from 1. The value of the loss means little; its gradient is what counts.
    """

    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "group", "scale": "std"}

    aggregation: Aggregation = aggregation("token-mean")
    ratio_min: float = attrs.field(default=0.0, validator=ge(0.0))
    ratio_max: float = attrs.field(default=5.0, validator=gt(0.0))

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.ratio_min > self.ratio_max:
            raise ValueError(
                f"'ratio_min' must be at most 'ratio_max', got {self.ratio_min} and "
                f"{self.ratio_max}"
            )

    def token_loss(self, batch: TokenBatch) -> tuple[TokenLoss, dict[str, Metric]]:
        moved = LogRatio.of(batch, self.overflow)
        ratio = moved.ratio()
        weight = ratio.clamp(self.ratio_min, self.ratio_max)
        metrics = {"ratio/truncated_fraction": weight != ratio}
        slope = weight.mul_(batch.advantage).neg_()  # [B, T]
        return TokenLoss.score(batch, slope), ratio_metrics(batch, ratio, moved, metrics)
