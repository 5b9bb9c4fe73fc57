"""Quartiles of data, with the method stated."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_METHOD = (
    "The quartiles are the medians of the lower and the upper half of the ordered data; for an odd "
    "count the middle number belongs to neither half."
)


@attrs.frozen(kw_only=True)
class Quartiles(Family):
    """The quartiles of data, their distance, and the outliers by them."""

    name = "quartiles"
    tag = "probability/data"
    wordings = Wordings(
        lower=(
            f"Find the lower quartile of <data:integers>. {_METHOD}",
            f"What is the lower quartile of the numbers <data:integers>? {_METHOD}",
        ),
        upper=(
            f"Find the upper quartile of <data:integers>. {_METHOD}",
            f"What is the upper quartile of the numbers <data:integers>? {_METHOD}",
        ),
        between=(
            f"Find the interquartile range (upper less lower quartile) of <data:integers>. "
            f"{_METHOD}",
        ),
        three=(
            f"Give the lower quartile, the median and the upper quartile of <data:integers> as a "
            f"tuple in this order. {_METHOD}",
        ),
        outliers=(
            f"Find the set of the outliers among <data:integers>, that is of the numbers that lie "
            f"more than $1.5$ interquartile ranges below the lower or above the upper quartile. "
            f"{_METHOD} If there is no outlier, the set is empty.",
        ),
    )

    count: Ends = dial(5, 13, "how many numbers", least=5, most=40)
    most: Ends = dial(20, 90, "largest number", least=10, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        most = base.steady(self.most, difficulty)
        ask = base.rising(rng, ("lower", "upper", "three", "between", "outliers"), difficulty)
        if ask == "outliers":
            count = max(count, 7)
        data = [base.whole(rng, 1, most) for _ in range(count)]
        if ask == "outliers":  # most of the numbers in the middle, some far out
            data = [int(most / 2) + each // 5 for each in data]
            for place in range(base.whole(rng, 1, 2)):
                far = base.whole(rng, 1, int(most / 3))
                data[place] = far if rng.random() < 0.5 else int(most) + far
            data = base.shuffled(rng, data)
        order = sorted(data)
        half = count // 2
        low, high = order[:half], order[count - half :]
        lower, upper = _median(low), _median(high)
        first = f"In order the numbers are ${', '.join(map(str, order))}$. "
        below = (
            f"The lower half is ${', '.join(map(str, low))}$ with the median ${ratio_text(lower)}$"
        )
        above = (
            f"the upper half is ${', '.join(map(str, high))}$ with the median ${ratio_text(upper)}$"
        )
        values = {"data": data}
        if ask in ("lower", "upper"):
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(lower if ask == "lower" else upper),
                steps=f"{first}{below if ask == 'lower' else 'T' + above[1:]}.",
            )
        steps = f"{first}{below}, and {above}."
        between = upper - lower
        if ask == "between":
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(between),
                steps=f"{steps} The difference is ${ratio_text(upper)} - {ratio_text(lower)}$.",
            )
        if ask == "three":
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.ordered([lower, _median(order), upper]),
                steps=f"{steps} The median of all is ${ratio_text(_median(order))}$.",
            )
        floor, ceiling = lower - between * 3 / 2, upper + between * 3 / 2
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.finite_set(each for each in data if not floor <= each <= ceiling),
            steps=f"{steps} The interquartile range is ${ratio_text(between)}$, so outliers are "
            f"below ${ratio_text(floor)}$ or above ${ratio_text(ceiling)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Numbers by rank, found by counting what is smaller.
        data = values["data"]
        count = len(data)
        half = count // 2

        def between_ranks(start: int, size: int) -> Fraction:
            low, high = start + (size - 1) // 2, start + size // 2
            return Fraction(_by_rank(data, low) + _by_rank(data, high), 2)

        lower, upper = between_ranks(0, half), between_ranks(count - half, half)
        if ask == "lower":
            return gold.rational(lower)
        if ask == "upper":
            return gold.rational(upper)
        if ask == "between":
            return gold.rational(upper - lower)
        if ask == "three":
            return gold.ordered([lower, between_ranks(0, count), upper])
        far = 3 * (upper - lower)
        return gold.finite_set(
            each for each in data if 2 * (lower - each) > far or 2 * (each - upper) > far
        )


def _by_rank(data: Sequence[int], rank: int) -> int:
    for each in data:
        below = sum(other < each for other in data)
        if below <= rank < below + data.count(each):
            return each
    raise ValueError(f"no number of rank {rank}")


def _median(order: Sequence[int]) -> Fraction:
    half = len(order) // 2
    if len(order) % 2:
        return Fraction(order[half])
    return Fraction(order[half - 1] + order[half], 2)
