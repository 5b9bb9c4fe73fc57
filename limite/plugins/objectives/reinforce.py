"""REINFORCE: the gradient of the expected reward, as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from limite.core.types import Aggregation, Metric, TokenBatch
from limite.plugins.objectives.policy import PolicyObjective, aggregation
from limite.plugins.objectives.ratio import LogRatio, ratio_metrics
from limite.plugins.objectives.slope import TokenLoss


@attrs.frozen(kw_only=True)
class Reinforce(PolicyObjective):
    """Log-probability times advantage, summed over a response (RLOO, arXiv:2402.14740).

    ``loss[i,t] = -A logp``; the advantage is the reward minus the mean of the *other* responses'.
    It takes samples to be the policy's own: after the first update of a batch they are not, which
    ``ratio/mean`` and ``kl/behavior_nats`` show. The value of the loss means little.
    """

    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "group", "baseline": "leave-one-out"}

    aggregation: Aggregation = aggregation("sequence-mean-token-sum")

    def token_loss(self, batch: TokenBatch) -> tuple[TokenLoss, dict[str, Metric]]:
        moved = LogRatio.of(batch, self.overflow)
        metrics = ratio_metrics(batch, moved.ratio(), moved)
        return TokenLoss.score(batch, -batch.advantage), metrics
