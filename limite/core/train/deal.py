"""Dealing a rollout batch to several updates, whole groups at a time."""

from __future__ import annotations

import random


def deal(groups: int, updates: int, stream: random.Random) -> list[list[int]]:
    """Indexes ``0 .. groups - 1`` in ``updates`` minibatches, in an order drawn from ``stream``.

    Sizes differ by at most one and every group is used once; with fewer groups than updates some
    minibatches are empty.
    """
    if updates < 1:
        raise ValueError(f"a batch feeds at least one update, got {updates}")
    order = list(range(groups))
    stream.shuffle(order)
    small, larger = divmod(groups, updates)
    hands = []
    start = 0
    for index in range(updates):
        size = small + (index < larger)
        hands.append(order[start : start + size])
        start += size
    return hands
