"""Wilson's interval at the number of problems that a score is worth.

Responses to one problem are alike, so ``P`` problems with ``n`` responses tell less than ``P n``
questions would. A score ``p`` whose standard error, from the spread over problems, is ``s`` tells
as much as ``p (1 - p) / s^2`` independent questions; Wilson's interval of so many follows how
lopsided a share near 0 or 1 is, which resampling the few problems that were seen does not.

Its reach is Student's: the spread was estimated too. How well depends on the kurtosis ``k`` of the
problems' values; a variance of ``P`` of them is known as if by ``2 (P - 1) / (2 + k (P - 1) / P)``
degrees of freedom, here never fewer than ``P - 1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt

import attrs

from limite.evaluate import student

MOST_FREEDOM = 10_000.0  # beyond it Student's t is normal to five digits


@attrs.frozen
class Shape:
    """How values of problems lie: their mean and variance, skewness and excess kurtosis."""

    mean: float
    variance: float
    skewness: float
    kurtosis: float

    @classmethod
    def of(cls, values: Sequence[int]) -> Shape:
        """The moments over problems, of the values as they are (dividing by their number)."""
        mean = sum(values) / len(values)
        second, third, fourth = (
            sum((value - mean) ** power for value in values) / len(values) for power in (2, 3, 4)
        )
        if second == 0:
            return cls(mean, 0.0, 0.0, 0.0)
        return cls(mean, second, third / second**1.5, fourth / second**2 - 3)


def effective_interval(counts: Sequence[int], samples: int, confidence: float) -> tuple[int, int]:
    """The interval of the number of correct responses, in whole ones; the problems must differ.

    ``counts`` are those of ``samples`` responses to each of two problems or more.
    """
    problems, shape = len(counts), Shape.of(counts)
    total = problems * samples
    share = shape.mean / samples
    spread = share * (1 - share)
    error = shape.variance / (problems - 1) / samples**2
    questions = min(spread / error, float(total))
    square = _reach(confidence, _freedom(shape.kurtosis, problems)) ** 2
    middle = (share + square / (2 * questions)) / (1 + square / questions)
    half = sqrt(square * (spread / questions + square / (4 * questions**2)))
    half /= 1 + square / questions
    low, high = middle - half, middle + half
    return max(0, round(low * total)), min(total, round(high * total))


def _freedom(kurtosis: float, problems: int) -> float:
    """Degrees of freedom of a variance, in whole ones, so that few values of t are computed."""
    below = 2 + kurtosis * (problems - 1) / problems
    found = MOST_FREEDOM if below <= 0 else 2 * (problems - 1) / below
    return float(round(min(MOST_FREEDOM, max(found, problems - 1))))


@lru_cache(maxsize=4096)
def _reach(confidence: float, freedom: float) -> float:
    return student.quantile(confidence, freedom)
