"""Mean, median, modes and range of data."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_DATA = "<what>: <data:integers>."


@attrs.frozen(kw_only=True)
class DataAverages(Family):
    """The mean, the median, the modes and the range of data."""

    name = "data-averages"
    tag = "probability/data"
    wordings = Wordings(
        words={
            "what": (
                "These are the ages of the members of a club",
                "A shop notes how many loaves it sold each day",
                "Pupils count the pages that they have read",
                "These temperatures were measured, in degrees Fahrenheit",
                "These are the points of a team in its games",
            )
        },
        mean=(
            f"{_DATA} What is the mean of these numbers?",
            "Find the arithmetic mean of <data:integers>.",
        ),
        median=(
            f"{_DATA} What is the median of these numbers? For an even count it is the mean of the "
            "two in the middle.",
            "Find the median of <data:integers>, where for an even count the median is the mean of "
            "the two numbers in the middle.",
        ),
        modes=(
            f"{_DATA} Find the set of all modes, that is of the numbers that appear most often.",
            "Which numbers appear most often in the list <data:integers>? Give the set of all of "
            "them.",
        ),
        range=(
            f"{_DATA} What is the range of these numbers, the difference between the largest and "
            "the smallest?",
        ),
        three=(
            f"{_DATA} Give their mean, their median and their range (largest less smallest) as a "
            "tuple in this order. For an even count the median is the mean of the two in the "
            "middle.",
        ),
    )

    count: Ends = dial(5, 12, "how many numbers", least=4, most=40)
    most: Ends = dial(15, 90, "largest number", least=10, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        most = base.steady(self.most, difficulty)
        ask = base.rising(rng, ("range", "modes", "mean", "median", "three"), difficulty)
        data = [base.whole(rng, 1, most) for _ in range(count)]
        if ask == "modes":
            kinds = base.distinct(rng, max(3, count // 2), 1, int(most))
            data = kinds + [base.chosen(rng, kinds) for _ in range(count - len(kinds))]
            data = base.shuffled(rng, data)
        elif max(data) == min(data):
            data[0] += 1
        order = sorted(data)
        total = sum(data)
        mean, median = Fraction(total, count), _middle(order)
        in_order = f"In order the numbers are ${', '.join(map(str, order))}$. "
        mean_steps = f"The sum is ${' + '.join(map(str, data))} = {total}$, divided by ${count}$. "
        if count % 2:
            median_steps = f"{in_order}Number ${count // 2 + 1}$ is in the middle."
        else:
            low, high = order[count // 2 - 1], order[count // 2]
            median_steps = (
                f"{in_order}In the middle are ${low}$ and ${high}$, with the mean "
                f"$({low} + {high}) : 2$."
            )
        spread = f"The largest is ${order[-1]}$, the smallest ${order[0]}$"
        values = {"data": data}
        if ask == "mean":
            return Drawn(ask=ask, values=values, gold=gold.rational(mean), steps=mean_steps.strip())
        if ask == "median":
            return Drawn(ask=ask, values=values, gold=gold.rational(median), steps=median_steps)
        if ask == "range":
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.integer(order[-1] - order[0]),
                steps=f"{spread}: ${order[-1]} - {order[0]}$.",
            )
        if ask == "three":
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.ordered([mean, median, order[-1] - order[0]]),
                steps=f"{mean_steps}This is the mean, ${ratio_text(mean)}$. {median_steps} So the "
                f"median is ${ratio_text(median)}$. {spread}, so the range is "
                f"${order[-1] - order[0]}$.",
            )
        counts = Counter(order)
        top = max(counts.values())
        shown = ", ".join(f"{number} ({times})" for number, times in counts.items())
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.finite_set(each for each, times in counts.items() if times == top),
            steps=f"Count how often each number appears: {shown}. The highest count is ${top}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        data: Sequence[int] = values["data"]
        # The mean from the deviations from the first number; the median by counting what lies
        # below each number; the range by comparing all pairs.
        first = data[0]
        mean = first + Fraction(sum(each - first for each in data), len(data))
        widest = max(a - b for a in data for b in data)
        if ask == "mean":
            return gold.rational(mean)
        if ask == "range":
            return gold.integer(widest)
        if ask == "modes":
            often = [data.count(each) for each in data]
            return gold.finite_set(
                each for each, times in zip(data, often, strict=True) if times == max(often)
            )
        places = [(len(data) - 1) // 2, len(data) // 2]
        median = Fraction(0)
        for place in places:
            for each in data:
                below = sum(other < each for other in data)
                if below <= place < below + data.count(each):
                    median += Fraction(each, 2)
                    break
        if ask == "median":
            return gold.rational(median)
        return gold.ordered([mean, median, widest])


def _middle(order: Sequence[int]) -> Fraction:
    half = len(order) // 2
    if len(order) % 2:
        return Fraction(order[half])
    return Fraction(order[half - 1] + order[half], 2)
