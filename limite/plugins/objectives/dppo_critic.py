"""DPPO with credit from a critic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from limite.plugins.objectives.dppo import DPPO


@attrs.frozen(kw_only=True)
class DPPOCritic(DPPO):
    """Trust region on probabilities with generalised advantages (arXiv:2602.04879, 1506.02438).

    The loss is DPPO's; a token's advantage comes from a critic's values with ``lambda = 0.5 ** (1 /
    L)`` for a response of ``L`` tokens, so that its end weighs a half at its start whatever its
    length. The stage needs a ``critic``.
    """

    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "gae", "lam": "half-life"}
    requires_of_advantage: ClassVar[Mapping[str, Any]] = {"needs_values": True}
