"""The interval of an accuracy and of a paired difference, also where resampling shows no spread.

Problems that all agree resample to the same share every time. A bootstrap interval of them is a
point, which would claim certainty from a handful of problems. There an interval that looks at their
number takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from limite.evaluate.bootstrap import exact_interval
from limite.evaluate.shares import wilson

WITHOUT_SPREAD = "Wilson over problems: the bootstrap has no spread here"


@attrs.frozen(kw_only=True)
class Interval:
    """Both ends as shares. ``counts`` are the ends in responses, where they are whole ones."""

    low: float
    high: float
    counts: tuple[int, int] | None
    method: str


def accuracy_interval(counts: Sequence[int], samples: int, confidence: float = 0.95) -> Interval:
    """The interval of the share of correct responses, ``counts`` of ``samples`` to each problem.

    The exact problem bootstrap. Where it has no width, Wilson's interval with problems as trials,
    at the share they have in common: 0 of 16 problems gives ``[0, 0.194]``.
    """
    low, high = exact_interval(counts, confidence)
    total = len(counts) * samples
    if low < high:
        return Interval(
            low=low / total,
            high=high / total,
            counts=(low, high),
            method="problem bootstrap, exact",
        )
    below, above = wilson(sum(counts) / samples, len(counts), confidence)
    return Interval(low=below, high=above, counts=None, method=WITHOUT_SPREAD)


def difference_interval(changes: Sequence[int], samples: int, confidence: float = 0.95) -> Interval:
    """The interval of a paired difference, ``changes`` in correct responses of each problem.

    The exact paired bootstrap. Where it has no width, the difference widened on each side by the
    upper end of Wilson's interval for none of the problems: as many might have changed otherwise.
    """
    low, high = exact_interval(changes, confidence)
    total = len(changes) * samples
    if low < high:
        return Interval(
            low=low / total,
            high=high / total,
            counts=(low, high),
            method="paired problem bootstrap, exact",
        )
    middle = sum(changes) / total
    _, reach = wilson(0, len(changes), confidence)
    return Interval(
        low=max(-1.0, middle - reach),
        high=min(1.0, middle + reach),
        counts=None,
        method=WITHOUT_SPREAD,
    )
