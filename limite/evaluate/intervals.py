"""The interval of an accuracy and of a paired difference, also where resampling shows no spread.

Problems that all agree resample to the same share every time. A bootstrap interval of them is a
point, which would claim certainty from a handful of problems. There an interval that looks at their
number takes its place.

Of few problems the bootstrap is too narrow: it takes their spread for the true one. Below
``ENOUGH`` problems its ends are therefore taken further out, where Student's t would have them (the
expanded percentile interval, arXiv 1411.5279). The ends stay whole numbers of responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import sqrt
from statistics import NormalDist

import attrs

from limite.evaluate import student
from limite.evaluate.bootstrap import exact_interval
from limite.evaluate.shares import wilson

ENOUGH = 30
"""So many problems need no widening: from here on the plain bootstrap covers what it says."""
FEW = "exact, widened for few problems"
SURE = 1 - 1e-9  # a confidence beyond this would ask for less mass than rounding leaves

WITHOUT_SPREAD = "Wilson over problems: the bootstrap has no spread here"


@attrs.frozen(kw_only=True)
class Interval:
    """Both ends as shares. ``counts`` are the ends in responses, where they are whole ones."""

    low: float
    high: float
    counts: tuple[int, int] | None
    method: str


@cache
def bootstrap_confidence(problems: int, confidence: float) -> float:
    """The confidence at which to read the bootstrap so that it covers ``confidence``."""
    if not 2 <= problems < ENOUGH:
        return confidence
    reach = student.quantile(confidence, problems - 1) * sqrt(problems / (problems - 1))
    return min(SURE, 1 - 2 * NormalDist().cdf(-reach))


def accuracy_interval(counts: Sequence[int], samples: int, confidence: float = 0.95) -> Interval:
    """The interval of the share of correct responses, ``counts`` of ``samples`` to each problem.

    The exact problem bootstrap, widened for few problems. Where it has no width, Wilson's interval
    with problems as trials, at the share they have in common: 0 of 16 gives ``[0, 0.194]``.
    """
    low, high = exact_interval(counts, bootstrap_confidence(len(counts), confidence))
    total = len(counts) * samples
    if low < high:
        return Interval(
            low=low / total,
            high=high / total,
            counts=(low, high),
            method=f"problem bootstrap, {_how(len(counts))}",
        )
    below, above = wilson(sum(counts) / samples, len(counts), confidence)
    return Interval(low=below, high=above, counts=None, method=WITHOUT_SPREAD)


def difference_interval(changes: Sequence[int], samples: int, confidence: float = 0.95) -> Interval:
    """The interval of a paired difference, ``changes`` in correct responses of each problem.

    The exact paired bootstrap, widened for few problems. Where it has no width, the difference
    widened on each side by the upper end of Wilson's interval for none of the problems: as many
    might have changed otherwise.
    """
    low, high = exact_interval(changes, bootstrap_confidence(len(changes), confidence))
    total = len(changes) * samples
    if low < high:
        return Interval(
            low=low / total,
            high=high / total,
            counts=(low, high),
            method=f"paired problem bootstrap, {_how(len(changes))}",
        )
    middle = sum(changes) / total
    _, reach = wilson(0, len(changes), confidence)
    return Interval(
        low=max(-1.0, middle - reach),
        high=min(1.0, middle + reach),
        counts=None,
        method=WITHOUT_SPREAD,
    )


def _how(problems: int) -> str:
    return "exact" if problems >= ENOUGH else FEW
