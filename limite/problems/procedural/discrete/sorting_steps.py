"""Lists sorted by exchanging neighbours."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_PASS = (
    "A list is sorted in passes: each pass goes through it from left to right and exchanges two "
    "neighbours at once whenever the left one is larger. "
)


@attrs.frozen(kw_only=True)
class SortingSteps(Family):
    """Exchanges and passes that sorting a list by its neighbours takes."""

    name = "sorting-steps"
    tag = "discrete/algorithms"
    wordings = Wordings(
        swaps=(
            "The list $<numbers:integers>$ is to be sorted in rising order, and only neighbours "
            "may be exchanged. How many exchanges are needed at least?",
            "How many inversions does the sequence $<numbers:integers>$ have, that is, how many "
            "pairs in which the larger number comes first?",
        ),
        passes=(
            f"{_PASS}How many passes over the list $<numbers:integers>$ change something before it "
            "is sorted in rising order?",
        ),
        after=(f"{_PASS}What is the list $<numbers:integers>$ after <times:text>? Give a tuple.",),
    )

    count: Ends = dial(4, 12, "how many numbers", least=4, most=40)
    turned: Ends = dial(0.2, 0.7, "share that asks about passes", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        numbers = base.distinct(rng, count, 1, 3 * count + 8)
        if numbers == sorted(numbers):
            numbers.reverse()
        larger = [
            sum(each > number for each in numbers[:place]) for place, number in enumerate(numbers)
        ]
        listed = ", ".join(map(str, larger))
        begin = f"Before the numbers stand, in order, ${listed}$ larger ones"
        values: dict[str, Any] = {"numbers": numbers}
        if rng.random() >= base.steady(self.turned, difficulty):
            return Drawn(
                ask="swaps",
                values=values,
                gold=gold.integer(sum(larger)),
                steps=f"{begin}. Every exchange of neighbours puts one such pair right, so as many "
                f"are needed as there are in all: ${' + '.join(map(str, larger))}$.",
            )
        if rng.random() < 0.5:
            return Drawn(
                ask="passes",
                values=values,
                gold=gold.integer(max(larger)),
                steps=f"{begin}. A pass carries exactly one larger number over each number that "
                f"has "
                "any before it, so the largest of these counts is the number of passes.",
            )
        times = base.whole(rng, 1, min(3, max(larger)))
        values["times"] = ("one pass", "two passes", "three passes")[times - 1]
        rows, row = [], numbers
        for _ in range(times):
            row = _passed(row)
            rows.append(f"${', '.join(map(str, row))}$")
        return Drawn(
            ask="after",
            values=values,
            gold=gold.ordered(row),
            steps=f"In a pass, the largest number so far is carried along until a larger one "
            f"comes. This gives {', then '.join(rows)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The passes themselves, exchange by exchange.
        numbers = list(values["numbers"])
        limit = len(numbers)
        if ask == "after":
            limit = ("one pass", "two passes", "three passes").index(values["times"]) + 1
        swaps, passes = 0, 0
        for _ in range(limit):
            before = swaps
            for place in range(len(numbers) - 1):
                if numbers[place] > numbers[place + 1]:
                    numbers[place : place + 2] = numbers[place + 1], numbers[place]
                    swaps += 1
            passes += swaps > before
        if ask == "after":
            return gold.ordered(numbers)
        return gold.integer(swaps if ask == "swaps" else passes)


def _passed(numbers: Sequence[int]) -> list[int]:
    """The largest so far is held back, and everything smaller goes past it."""
    held, row = numbers[0], []
    for number in numbers[1:]:
        row.append(min(held, number))
        held = max(held, number)
    return [*row, held]
