"""Intervals from resampling problems, exactly and by drawing.

The unit is the problem: several responses to one problem are not independent questions. With whole
numbers per problem (how many responses are correct, or by how many two models differ) the sum over
resampled problems is distributed as a convolution power, so its quantiles need no random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from limite.core.errors import LimiteError

Floats = NDArray[np.float64]
Distribution = tuple[int, Floats]
"""Of a whole number: the least one, and the probabilities of it, of it plus 1, and so on."""
NO_SUM: Distribution = (0, np.ones(1))

# Tails lighter than this are cut while convolving. What is cut at some power of two is repeated at
# most once per problem, so a million problems lose under 1e-17 of the mass.
NEGLIGIBLE = 1e-24
# A cumulative probability this close to a level has reached it: rounding of the sums stays below.
ROUNDING = 1e-11


def sum_distribution(values: Sequence[int]) -> Distribution:
    """The distribution of the sum of ``len(values)`` draws from ``values`` with replacement.

    Returns the least sum and the probabilities of it, of it plus 1, and so on, as float64. All
    terms are positive, so no digits are lost to cancellation.
    """
    if not values:
        raise LimiteError("an interval needs at least one problem")
    low = min(values)
    counts = np.bincount(np.asarray(values, dtype=np.int64) - low)
    return power((low, counts / len(values)), len(values))


def power(one: Distribution, times: int) -> Distribution:
    """The distribution of the sum of ``times`` independent numbers, each distributed as ``one``."""
    total = NO_SUM
    square = one
    remaining = times
    while remaining:
        if remaining & 1:
            total = convolve(total, square)
        remaining >>= 1
        if remaining:
            square = convolve(square, square)
    offset, probabilities = total
    return offset, probabilities / probabilities.sum()


def exact_interval(values: Sequence[int], confidence: float = 0.95) -> tuple[int, int]:
    """The percentile bootstrap interval of the sum of ``values`` over resampled problems.

    Ends are the smallest sums whose cumulative probability reaches ``(1 - confidence) / 2`` and
    ``(1 + confidence) / 2``; divide by problems and responses for a share.
    """
    return quantiles(sum_distribution(values), confidence)


def quantiles(distribution: Distribution, confidence: float) -> tuple[int, int]:
    """The smallest numbers whose cumulative probability reaches the two levels of an interval."""
    offset, probabilities = distribution
    cumulative = np.cumsum(probabilities)
    low, high = (
        int(np.searchsorted(cumulative, level - ROUNDING, side="left"))
        for level in _levels(confidence)
    )
    return offset + low, offset + min(high, len(probabilities) - 1)


def monte_carlo_interval(
    values: Sequence[float], *, seed: int, draws: int = 10_000, confidence: float = 0.95
) -> tuple[float, float]:
    """The same interval for the mean of any per-problem values, from ``draws`` seeded resamples.

    No interpolation: each end is one of the resampled means.
    """
    if not values:
        raise LimiteError("an interval needs at least one problem")
    if draws < 1:
        raise LimiteError(f"the bootstrap needs at least one draw, got {draws}")
    table = np.asarray(values, dtype=np.float64)
    stream = np.random.Generator(np.random.PCG64(seed))
    means = np.empty(draws)
    rows = max(1, 4_000_000 // len(table))  # bounds the memory of a block
    for start in range(0, draws, rows):
        block = min(rows, draws - start)
        picked = stream.integers(len(table), size=(block, len(table)))
        means[start : start + block] = table[picked].mean(axis=1)
    means.sort()
    low, high = (
        float(means[max(0, math.ceil(level * draws - ROUNDING) - 1)])
        for level in _levels(confidence)
    )
    return low, high


def _levels(confidence: float) -> tuple[float, float]:
    if not 0.0 < confidence < 1.0:
        raise LimiteError(f"the confidence of an interval lies between 0 and 1, got {confidence}")
    return (1 - confidence) / 2, (1 + confidence) / 2


def convolve(first: Distribution, second: Distribution) -> Distribution:
    """The distribution of a sum of two independent numbers, without negligible tails.

    Summed directly: a Fourier transform would bury the small probabilities in rounding.
    """
    product: Floats = np.convolve(first[1], second[1])
    offset = first[0] + second[0]
    start = int(np.searchsorted(np.cumsum(product), NEGLIGIBLE))
    stop = len(product) - int(np.searchsorted(np.cumsum(product[::-1]), NEGLIGIBLE))
    return offset + start, product[start:stop]
