"""Consecutive numbers with a given sum, product or sum of squares."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_GAPS = {"consecutive whole": 1, "consecutive even": 2, "consecutive odd": 2}


@attrs.frozen(kw_only=True)
class ConsecutiveNumbers(Family):
    """Consecutive whole, even or odd numbers found from their sum, product or squares."""

    name = "consecutive-numbers"
    tag = "arithmetic/word-problems"
    wordings = Wordings(
        sum=(
            "The sum of $<count>$ <kind:text> numbers is $<total>$. What is the largest of them?",
            "Find the largest of $<count>$ <kind:text> numbers that add up to $<total>$.",
        ),
        product=(
            "The product of two positive <kind:text> numbers is $<total>$. What is the larger one?",
            "Two positive <kind:text> numbers have the product $<total>$. Find the larger one.",
        ),
        squares=(
            "The squares of $<count>$ positive <kind:text> numbers add up to $<total>$. What is "
            "the largest of the numbers?",
            "The sum of the squares of $<count>$ positive <kind:text> numbers is $<total>$. Find "
            "the largest of these numbers.",
        ),
    )

    count: Ends = dial(3, 9, "how many numbers", least=2, most=30)
    largest: Ends = dial(40, 500, "size of the numbers", least=5, most=2000)
    turned: Ends = dial(0.1, 0.8, "share of products and squares", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        kind = base.chosen(rng, tuple(_GAPS))
        gap = _GAPS[kind]
        largest = base.steady(self.largest, difficulty)
        first = base.whole(rng, max(2, int(largest / 8)), largest)
        first += gap == 2 and first % 2 != (kind == "consecutive odd")
        if rng.random() >= base.steady(self.turned, difficulty):
            last, total = first + gap * (count - 1), count * first + gap * count * (count - 1) // 2
            mean = ratio_text(Fraction(total, count))
            return Drawn(
                ask="sum",
                values={"count": count, "kind": kind, "total": total},
                gold=gold.integer(last),
                steps=f"Their average is ${total} \\div {count} = {mean}$. It stands in the middle "
                f"of them, and from it to the largest it is half of ${count - 1} \\cdot {gap}$.",
            )
        if rng.random() < 0.5:
            total = first * (first + gap)
            square = f"{4 * total} + {gap**2} = {4 * total + gap * gap}"
            return Drawn(
                ask="product",
                values={"kind": kind, "total": total},
                gold=gold.integer(first + gap),
                steps=f"With the sum $s$ of both, $s^2 = 4 \\cdot {total} + {gap}^2$, because they "
                f"differ by ${gap}$. So $s^2 = {square}$ and $s = {2 * first + gap}$, and the "
                f"larger one is $({2 * first + gap} + {gap}) \\div 2$.",
            )
        count = min(count | 1, 7)
        middle = first + gap * (count // 2)
        spread = 2 * gap * gap * sum(step * step for step in range(1, count // 2 + 1))
        total = count * middle**2 + spread
        return Drawn(
            ask="squares",
            values={"count": count, "kind": kind, "total": total},
            gold=gold.integer(middle + gap * (count // 2)),
            steps=f"With the middle one $m$ the sum is ${count}m^2 + {spread}$, because the terms "
            f"with $m$ itself cancel. So $m^2 = ({total} - {spread}) \\div {count} = {middle**2}$ "
            f"and $m = {middle}$, and the largest is $m + {gap * (count // 2)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The run of numbers moves up until it fits.
        kind, total = values["kind"], values["total"]
        gap, count = _GAPS[kind], values.get("count", 2)
        first = 1 if kind == "consecutive odd" else gap
        power = 2 if ask == "squares" else 1
        run = [first + gap * place for place in range(count)]
        reached = run[0] * run[1] if ask == "product" else sum(each**power for each in run)
        while reached < total:
            run.append(run[-1] + gap)
            if ask == "product":
                reached = run[-1] * run[-2]
            else:
                reached += run[-1] ** power - run[-1 - count] ** power
        return gold.integer(run[-1]) if reached == total else None
