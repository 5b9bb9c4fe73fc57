"""PPO: clipped ratios with credit from a critic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from limite.core.types import Aggregation
from limite.plugins.objectives.grpo import GRPO
from limite.plugins.objectives.policy import aggregation


@attrs.frozen(kw_only=True)
class PPOCritic(GRPO):
    """Clipped-ratio loss with generalised advantages, every token the same (arXiv:1707.06347).

    The loss of a token is GRPO's; its advantage comes from a critic's values with ``lambda = 0.95``
    (the critic learns at 1: VC-PPO, arXiv:2503.01491). The stage needs a ``critic``, which learns
    beside the policy by a loss of its own and shares no parameter with it.
    """

    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "gae", "lam": 0.95}
    requires_of_advantage: ClassVar[Mapping[str, Any]] = {"needs_values": True}

    aggregation: Aggregation = aggregation("token-mean")
