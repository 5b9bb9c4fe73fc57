"""Draws of single problems, none of them twice in a batch."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence


def weighted_sample(
    weights: Sequence[float], count: int, rng: random.Random, taken: set[int]
) -> list[int]:
    """Up to ``count`` indexes that are not ``taken`` yet, one after the other, each by its weight.

    They are added to ``taken``. There are fewer where no more of a weight above 0 are left. Every
    index waits for an exponential time with its weight as rate, and the first ones win: the same
    as to draw again and again among the rest.
    """
    waits = []
    for index, weight in enumerate(weights):
        wait = -math.log1p(-rng.random())  # of every index, so that none moves another's
        if weight > 0 and index not in taken:
            waits.append((wait / weight, index))
    drawn = [index for _, index in heapq.nsmallest(count, waits)]
    taken.update(drawn)
    return drawn
