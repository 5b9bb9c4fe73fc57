"""Which rows of an update are whose: runs of neighbours, with about as many tokens each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def shares(sizes: Sequence[int], ranks: int) -> list[range]:
    """The indexes of ``sizes`` that each of ``ranks`` takes: all of them once, in order.

    What is about as much for each is counted in ``sizes``, such as tokens. A rank may get nothing.
    """
    if ranks < 1:
        raise ValueError(f"there is at least one rank, got {ranks}")
    total = sum(sizes)
    owners = []
    for size, end in zip(sizes, accumulate(sizes), strict=True):
        # By the middle of each, so that no rank is given much more than its part.
        twice_middle = 2 * end - size
        owners.append(min(ranks - 1, twice_middle * ranks // (2 * total)) if total else 0)
    starts = [0]
    for rank in range(ranks):
        starts.append(starts[-1] + owners.count(rank))
    return [range(starts[rank], starts[rank + 1]) for rank in range(ranks)]
