"""Intervals from resampling problems and then the responses to each, exactly.

Resampling ``n`` responses of which ``c`` are correct gives a number of correct ones that is
binomial with chance ``c/n``. The sum over resampled problems is then a convolution power of a
mixture of binomials, whose quantiles need no random numbers. Responses are resampled on top of
problems, so their noise counts twice: the interval is a little wider than the one over problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from limite.core.errors import LimiteError
from limite.evaluate.bootstrap import Distribution, Floats, power, quantiles


def hierarchical_interval(
    counts: Sequence[int], samples: int, confidence: float = 0.95
) -> tuple[int, int]:
    """The interval of the number of correct responses, ``counts`` of ``samples`` to each problem.

    Divide by problems and responses for a share.
    """
    _check(counts, samples)
    mixture = np.zeros(samples + 1)
    for count, problems in Counter(counts).items():
        mixture += problems / len(counts) * resampled(count, samples)
    return _interval((0, mixture), len(counts), confidence)


def paired_hierarchical_interval(
    before: Sequence[int], after: Sequence[int], samples: int, confidence: float = 0.95
) -> tuple[int, int]:
    """The interval of the change in correct responses: each problem is drawn once for both sides,
    then the responses of each side on their own."""
    _check(before, samples)
    _check(after, samples)
    if len(before) != len(after):
        raise LimiteError(f"{len(before)} problems cannot be paired with {len(after)}")
    mixture = np.zeros(2 * samples + 1)
    for (was, now), problems in Counter(zip(before, after, strict=True)).items():
        change: Floats = np.convolve(resampled(now, samples), resampled(was, samples)[::-1])
        mixture += problems / len(before) * change
    return _interval((-samples, mixture), len(before), confidence)


def resampled(count: int, samples: int) -> Floats:
    """The probabilities of 0, 1, ... ``samples`` correct ones among as many resampled responses."""
    if count in (0, samples):
        sure = np.zeros(samples + 1)
        sure[count] = 1.0
        return sure
    share = count / samples
    chosen = np.arange(samples + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, samples + 1)))])
    ways = factorials[-1] - factorials - factorials[::-1]
    found: Floats = np.exp(ways + chosen * np.log(share) + chosen[::-1] * np.log1p(-share))
    found /= found.sum()
    return found


def _interval(one: Distribution, problems: int, confidence: float) -> tuple[int, int]:
    return quantiles(power(one, problems), confidence)


def _check(counts: Sequence[int], samples: int) -> None:
    if not counts:
        raise LimiteError("an interval needs at least one problem")
    wrong = next((count for count in counts if not 0 <= count <= samples), None)
    if wrong is not None:
        raise LimiteError(f"{wrong} of {samples} responses cannot be correct")
