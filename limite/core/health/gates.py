"""Verdicts: a figure, the limit it was held against, and whether it passed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import attrs

from limite.core.health.limits import HealthLimits
from limite.core.health.ratios import RatioHealth


@attrs.frozen(kw_only=True)
class GateVerdict:
    """One gate: a figure within ``low`` and ``high``, or strictly ``above`` and ``below``.

    A figure that does not exist (no tokens, NaN) never passes.
    """

    name: str
    figure: float | None
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None

    @property
    def limit(self) -> str:
        """The limit in words: ``<= 0.05``, ``>= 0.95`` or ``0.5 .. 2.0``."""
        if self.low is not None and self.high is not None:
            return f"{self.low} .. {self.high}"
        limits = {">=": self.low, "<=": self.high, ">": self.above, "<": self.below}
        return " and ".join(f"{sign} {at}" for sign, at in limits.items() if at is not None)

    @property
    def passed(self) -> bool:
        if self.figure is None or math.isnan(self.figure):
            return False
        return (
            (self.low is None or self.figure >= self.low)
            and (self.high is None or self.figure <= self.high)
            and (self.above is None or self.figure > self.above)
            and (self.below is None or self.figure < self.below)
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data for ``health.jsonl``."""
        return {
            "gate": self.name,
            "figure": self.figure,
            "limit": self.limit,
            "passed": self.passed,
        }


def ratio_gates(health: RatioHealth, limits: HealthLimits) -> tuple[GateVerdict, ...]:
    """The three gates on a batch's importance weights, measured before its first update."""
    return (
        GateVerdict(
            name="ratio/clipped_token_fraction",
            figure=health.clipped_token_fraction,
            high=limits.clipped_token_fraction,
        ),
        GateVerdict(
            name="ratio/effective_sample_fraction",
            figure=health.effective_sample_fraction,
            low=limits.effective_sample_fraction,
        ),
        GateVerdict(
            name="ratio/mean_weight",
            figure=health.mean_weight,
            low=limits.mean_weight_low,
            high=limits.mean_weight_high,
        ),
    )


def all_passed(verdicts: Iterable[GateVerdict]) -> bool:
    """Whether every gate passed."""
    return all(verdict.passed for verdict in verdicts)
