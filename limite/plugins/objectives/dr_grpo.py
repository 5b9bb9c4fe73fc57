"""Dr. GRPO: GRPO without its two biases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from limite.core.types import Aggregation
from limite.plugins.objectives.grpo import GRPO
from limite.plugins.objectives.policy import aggregation


@attrs.frozen(kw_only=True)
class DrGRPO(GRPO):
    """Clipped-ratio loss over a constant length (Dr. GRPO, arXiv:2503.20783).

    The loss of a token is GRPO's, its advantage not scaled by a spread. Tokens are summed and
    divided by ``responses * constant_tokens``, so that a long wrong answer is not cheaper per token
    than a short one. Both halves belong to it: another aggregation is another method, and so is an
    advantage in units of a spread.
    """

    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "group", "scale": "none"}
    requires_of_advantage: ClassVar[Mapping[str, Any]] = {"scale": "none"}

    aggregation: Aggregation = aggregation("constant", "constant")
