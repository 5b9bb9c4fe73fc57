"""What families draw with: each order, each item and each set of numbers equally often."""

from __future__ import annotations

import random
from collections import Counter

from limite.problems.procedural import base, gold


def test_every_order_is_drawn_equally_often():
    rng = random.Random(1)
    orders = Counter(tuple(base.shuffled(rng, "abc")) for _ in range(6000))
    assert len(orders) == 6
    assert all(880 < count < 1120 for count in orders.values())


def test_every_item_is_chosen():
    rng = random.Random(2)
    items = Counter(base.chosen(rng, (5, 7, 9)) for _ in range(3000))
    assert set(items) == {5, 7, 9}
    assert min(items.values()) > 880


def test_different_numbers_in_bounds_and_each_set_equally_often():
    rng = random.Random(3)
    drawn = Counter(tuple(base.distinct(rng, 2, 1, 4)) for _ in range(12000))
    assert len(drawn) == 12
    assert all(880 < count < 1120 for count in drawn.values())
    assert sorted(base.distinct(rng, 5, -2, 2)) == [-2, -1, 0, 1, 2]
    assert base.distinct(rng, 0, 3, 9) == []


def test_golds_in_other_bases_are_canonical():
    assert gold.in_base(-255, 16).answer.value == "-ff"
    assert gold.in_base(0, 2).answer.value == "0"
    assert gold.digits_in(10**6, 7) == "11333311"


def test_harder_items_come_with_difficulty():
    rng = random.Random(4)
    drawn = [
        Counter(base.rising(rng, range(10), difficulty) for _ in range(2000))
        for difficulty in (0.0, 0.5, 1.0)
    ]
    assert [(min(each), max(each)) for each in drawn] == [(0, 4), (1, 7), (3, 9)]
    means = [sum(item * count for item, count in each.items()) for each in drawn]
    assert means == sorted(means)
    assert base.rising(rng, "a", 1.0) == "a"
