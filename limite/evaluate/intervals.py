"""The interval of an accuracy and of a paired difference, also where resampling cannot tell.

Problems that all agree resample to the same share every time. A bootstrap interval of them is a
point, which would claim certainty from a handful of problems. There an interval that looks at their
number takes its place.

Of few problems, or of a lopsided set (nearly all solved, or hardly any), the bootstrap is too sure:
it takes the spread it sees for the true one, and misses on one side. ``P`` problems are enough for
it where ``P >= 28 + 25 g^2``, with ``g`` the skewness over problems (Sugden, Smith and Jones,
"Cochran's rule for simple random sampling", 2000). With fewer an accuracy has Wilson's interval at
the number of questions that the score is worth.

A difference is no share. Of fewer than ``ENOUGH`` problems, or where fewer than ``CHANGED`` of them
changed, the ends of its bootstrap are taken further out, where Student's t would have them (the
expanded percentile interval, arXiv 1411.5279). The ends stay whole numbers of responses. Where so
few problems changed that the same signs by chance alone are no rarity, the interval holds 0:
resampling two problems that both went better never gives anything else, and shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import sqrt
from statistics import NormalDist

import attrs

from limite.evaluate import student
from limite.evaluate.bootstrap import exact_interval
from limite.evaluate.effective import Shape, effective_interval
from limite.evaluate.shares import wilson

ENOUGH = 30
"""So many problems need no widening: from here on the plain bootstrap covers what it says."""
CHANGED = 10
"""With fewer problems that changed, these alone say how far changes spread."""
LEAST, PER_SKEWNESS = 28, 25
FEW = "exact, widened for few problems"
FEW_CHANGED = "exact, widened for few changes"
SURE = 1 - 1e-9  # a confidence beyond this would ask for less mass than rounding leaves

PLAIN = "problem bootstrap, exact"
EFFECTIVE = "Wilson at the effective number of questions: too few problems for so lopsided a set"
WILSON = "Wilson over problems: one response to each, and too few for the bootstrap"
TOO_FEW = "too few problems changed to leave out 0"
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
    return _widened(problems, problems - 1, confidence)


@cache
def _widened(problems: int, freedom: int, confidence: float) -> float:
    reach = student.quantile(confidence, freedom) * sqrt(problems / (problems - 1))
    return min(SURE, 1 - 2 * NormalDist().cdf(-reach))


def accuracy_interval(counts: Sequence[int], samples: int, confidence: float = 0.95) -> Interval:
    """The interval of the share of correct responses, ``counts`` of ``samples`` to each problem.

    The exact problem bootstrap, where there are enough problems for it; else Wilson's interval at
    the effective number of questions, rounded to whole responses. With one response to each problem
    that is Wilson's own. Where all problems agree, Wilson's with problems as trials, at the share
    they have in common: 0 of 16 gives ``[0, 0.194]``.
    """
    total = len(counts) * samples
    shape = Shape.of(counts)
    if shape.variance == 0:
        below, above = wilson(sum(counts) / samples, len(counts), confidence)
        return Interval(low=below, high=above, counts=None, method=WITHOUT_SPREAD)
    if len(counts) >= LEAST + PER_SKEWNESS * shape.skewness**2:
        ends, method = exact_interval(counts, confidence), PLAIN
    elif samples > 1:
        ends, method = effective_interval(counts, samples, confidence), EFFECTIVE
    else:
        below, above = wilson(sum(counts), len(counts), confidence)
        return Interval(low=below, high=above, counts=None, method=WILSON)
    return Interval(low=ends[0] / total, high=ends[1] / total, counts=ends, method=method)


def difference_interval(changes: Sequence[int], samples: int, confidence: float = 0.95) -> Interval:
    """The interval of a paired difference, ``changes`` in correct responses of each problem.

    The exact paired bootstrap, widened where problems or changes are few. Where it has no width,
    the difference widened on each side by the upper end of Wilson's interval for none of the
    problems: as many might have changed otherwise.
    """
    level, how = _difference_level(changes, confidence)
    low, high = exact_interval(changes, level)
    total = len(changes) * samples
    chance = tells_nothing(changes, confidence)
    note = f"; {TOO_FEW}" if chance else ""
    if low < high:
        ends = (min(low, 0), max(high, 0)) if chance else (low, high)
        return Interval(
            low=ends[0] / total,
            high=ends[1] / total,
            counts=ends,
            method=f"paired problem bootstrap, {how}{note}",
        )
    middle = sum(changes) / total
    _, reach = wilson(0, len(changes), confidence)
    below, above = max(-1.0, middle - reach), min(1.0, middle + reach)
    return Interval(
        low=min(below, 0.0) if chance else below,
        high=max(above, 0.0) if chance else above,
        counts=None,
        method=f"{WITHOUT_SPREAD}{note if middle else ''}",
    )


def tells_nothing(changes: Sequence[int], confidence: float) -> bool:
    """Whether the problems that changed had all gone one way by chance more often than allowed.

    ``k`` of them do with a probability of ``2^(1 - k)``: with 95% five are too few.
    """
    changed = sum(change != 0 for change in changes)
    return 2.0 ** (1 - changed) > 1 - confidence


def _difference_level(changes: Sequence[int], confidence: float) -> tuple[float, str]:
    """The confidence at which to read the bootstrap of changes, and how that is called."""
    problems, changed = len(changes), sum(change != 0 for change in changes)
    if problems > changed and 0 < changed < CHANGED:
        return _widened(problems, max(1, changed - 1), confidence), FEW_CHANGED
    if 2 <= problems < ENOUGH:
        return bootstrap_confidence(problems, confidence), FEW
    return confidence, "exact"
