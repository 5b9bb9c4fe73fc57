"""Which family fills which place of a file: evenly spread, by weight, and known for any place."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence


def spread(weights: Sequence[float], count: int) -> Iterator[int]:
    """The index of a weight for each of ``count`` places, each as often as its weight asks.

    The same places come first whatever the count. Weight w has its k-th place when
    ``(2k + 1) / 2w`` is the smallest: one division of doubles, which is the same everywhere.
    """
    if len(weights) == 1:
        yield from (0 for _ in range(count))
        return
    queue = [(1 / (2 * weight), index, 0) for index, weight in enumerate(weights)]
    heapq.heapify(queue)
    for _ in range(count):
        _, index, taken = queue[0]
        yield index
        heapq.heapreplace(queue, ((2 * taken + 3) / (2 * weights[index]), index, taken + 1))
