"""GRPO: clipped ratios, each response weighing the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from limite.core.types import Aggregation, Metric, TokenBatch
from limite.plugins.objectives.policy import PolicyObjective, aggregation
from limite.plugins.objectives.ratio import clipped_ratio, dual_clip, eps_high, eps_low
from limite.plugins.objectives.slope import TokenLoss


@attrs.frozen(kw_only=True)
class GRPO(PolicyObjective):
    """Clipped-ratio loss averaged over tokens, then over responses (GRPO, arXiv:2402.03300).

    ``loss[i,t] = -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A)`` with ``r = exp(logp -
    behavior_logp)``; the advantage is scaled by the spread of the group's rewards. The paper's KL
    penalty, ``beta = 0.04``, is off unless asked for.
    """

    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "group", "scale": "std"}

    aggregation: Aggregation = aggregation("sequence-mean-token-mean")
    eps_low: float = eps_low(0.2)
    eps_high: float = eps_high(0.2)
    dual_clip: float | None = dual_clip()

    def token_loss(self, batch: TokenBatch) -> tuple[TokenLoss, dict[str, Metric]]:
        return clipped_ratio(
            batch,
            eps_low=self.eps_low,
            eps_high=self.eps_high,
            dual_clip=self.dual_clip,
            overflow=self.overflow,
        )
