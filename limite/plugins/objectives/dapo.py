"""DAPO: clipped ratios with a higher ceiling, every token weighing the same."""

from __future__ import annotations

import attrs

from limite.core.types import Aggregation
from limite.plugins.objectives.grpo import GRPO
from limite.plugins.objectives.policy import aggregation
from limite.plugins.objectives.ratio import eps_high


@attrs.frozen(kw_only=True)
class DAPO(GRPO):
    """Clipped-ratio loss averaged over all tokens, clipped higher than lower (arXiv:2503.14476).

    The loss of a token is GRPO's with ``eps_high = 0.28``: a rare token may grow more in one update
    than it may shrink. The mean over tokens lets long responses weigh by their length.
    """

    aggregation: Aggregation = aggregation("token-mean")
    eps_high: float = eps_high(0.28)
