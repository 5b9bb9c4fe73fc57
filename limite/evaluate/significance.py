"""Tests of a difference: exact p-values, several of them together, and a cautious interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb

import numpy as np

from limite.core.errors import LimiteError
from limite.core.health.holm import holm as holm
from limite.evaluate.bootstrap import NO_SUM, convolve, power
from limite.evaluate.shares import wilson

ROUNDING = 1e-12


def mcnemar(lost: int, won: int) -> float:
    """The exact two-sided p-value of McNemar's test.

    ``lost`` problems are right only before and ``won`` only after. With no change the p-value is 1.
    """
    if lost < 0 or won < 0:
        raise LimiteError(f"problems are counted, and cannot be {lost} and {won}")
    changed, fewer = lost + won, min(lost, won)
    tail = sum(comb(changed, count) for count in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << changed))


def sign_flip(changes: Sequence[int]) -> float:
    """The exact two-sided p-value of a paired difference, from all responses.

    Were two models alike, the change of a problem would be as likely with the other sign. This is
    the share of all ways to choose signs whose sum is at least as far from 0 as the one observed.
    """
    sizes = Counter(abs(change) for change in changes if change)
    total = NO_SUM
    for size, count in sorted(sizes.items()):
        step = np.zeros(2 * size + 1)
        step[0] = step[-1] = 0.5
        total = convolve(total, power((-size, step), count))
    offset, probabilities = total
    sums = offset + np.arange(len(probabilities))
    far = float(probabilities[np.abs(sums) >= abs(sum(changes))].sum())
    return 1.0 if far > 1 - ROUNDING else far


def cautious_difference(
    before: tuple[int, int], after: tuple[int, int], confidence: float = 0.95
) -> tuple[float, float]:
    """Wilson intervals subtracted end from end, for shares given as counts and totals.

    Wider than the paired interval, because it takes nothing from the pairing of problems.
    """
    low_before, high_before = wilson(*before, confidence)
    low_after, high_after = wilson(*after, confidence)
    return low_after - high_before, high_after - low_before
