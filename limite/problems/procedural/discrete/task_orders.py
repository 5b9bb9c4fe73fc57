"""Orders in which tasks that wait for each other can be done."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.discrete import graphs
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class TaskOrders(Family):
    """In how many orders tasks can be done, some of which must wait for others."""

    name = "task-orders"
    tag = "discrete/orders"
    wordings = Wordings(
        "The tasks <tasks:text> are done one after the other. In these pairs the first task must "
        "be done before the second: <pairs:text>. How many orders of all tasks are possible?",
        "How many topological orders are there of the directed graph with the vertices "
        "<tasks:text>, in which these edges go from the first to the second letter: <pairs:text>?",
        "The runners <tasks:text> finish a race, no two at the same time. In these pairs the first "
        "one is faster than the second: <pairs:text>. How many orders of arrival are possible?",
    )

    tasks: Ends = dial(3.5, 7, "how many tasks", least=3, most=9)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        tasks = base.whole_near(rng, base.steady(self.tasks, difficulty))
        for _ in range(10):  # one order alone would be dull
            pairs, before, ways = _drawn(rng, tasks)
            if ways[0] > 1:
                break
        first = [task for task in range(tasks) if not before[task]]
        cases = ", ".join(f"${ways[1 << task]}$ with {graphs.NAMES[task]} first" for task in first)
        added = " + ".join(str(ways[1 << task]) for task in first)
        after = f"These are ${added}$." if len(first) > 1 else "So this is the number of all."
        return Drawn(
            values={"tasks": graphs.named(tasks), "pairs": graphs.text_of(pairs)},
            gold=gold.integer(ways[0]),
            steps=f"Only what waits for nothing can come first. Counting on in the same way for "
            f"what is then left, there are {cases}. {after}",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Tasks are put in one after the other, each at every place that the pairs allow.
        tasks, pairs = graphs.count_of(values["tasks"]), graphs.read(values["pairs"])
        orders: list[tuple[int, ...]] = [()]
        for task in range(tasks):
            ahead = {one for one, other in pairs if other == task}
            behind = {other for one, other in pairs if one == task}
            longer = []
            for order in orders:
                low, high = 0, len(order)
                for place, each in enumerate(order):
                    if each in ahead:
                        low = place + 1
                    elif each in behind and high == len(order):
                        high = place
                longer += [(*order[:place], task, *order[place:]) for place in range(low, high + 1)]
            orders = longer
        return gold.integer(len(orders))


def _drawn(rng: random.Random, tasks: int) -> tuple[list[graphs.Edge], list[int], list[int]]:
    """Pairs without a ring, what each task waits for, and how many orders go on from each set."""
    place = base.shuffled(rng, range(tasks))
    count = base.whole(rng, max(1, tasks - 3), tasks)
    drawn = graphs.drawn(rng, tasks, min(count, tasks * (tasks - 1) // 2))
    pairs = base.shuffled(rng, [(place[one], place[other]) for one, other in drawn])
    before = [0] * tasks
    for one, other in pairs:
        before[other] |= 1 << one
    every = (1 << tasks) - 1
    ways = [0] * (1 << tasks)
    ways[every] = 1
    for done in range(every - 1, -1, -1):
        for task in range(tasks):
            if not done >> task & 1 and before[task] & ~done == 0:
                ways[done] += ways[done | 1 << task]
    return pairs, before, ways
