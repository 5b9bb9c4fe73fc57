"""Averages: a number that is missing, one taken away, and groups put together."""

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


@attrs.frozen(kw_only=True)
class Averages(Family):
    """A missing number, a number taken away, or the average of groups put together."""

    name = "averages"
    tag = "arithmetic/averages"
    wordings = Wordings(
        words={
            "who": ("Ana", "Luc", "Mira", "Tom", "Ines", "Jan", "Sara", "Omar"),
            "game": ("test", "game", "race", "round"),
        },
        missing=(
            "The average of $<count>$ numbers is $<average:ratio>$. All but one of them are "
            "$<known:integers>$. What is the other one?",
            "One <game> after the other, <who> has scored $<known:integers>$ points so far. How "
            "many points does <who> need in the next <game>, so that the average of all $<count>$ "
            "scores is $<average:ratio>$?",
        ),
        removed=(
            "The average of $<count>$ numbers is $<average:ratio>$. When one of them is taken "
            "away, the average of the others is $<after:ratio>$. Which number was taken away?",
            "The average weight of $<count>$ parcels on a cart is $<average:ratio>$ kg. One of "
            "them is taken off, and the average weight of the others is $<after:ratio>$ kg. How "
            "many kilograms does the parcel taken off weigh?",
        ),
        groups=(
            "Several groups took the same test. Their sizes are $<sizes:integers>$, and their "
            "average scores, in the same order, are $<averages:ratios>$. What is the exact "
            "average score of all who took it?",
            "Bags of $<sizes:integers>$ stones are emptied into one box. In the bags, a stone "
            "weighed on average $<averages:ratios>$ grams, in the same order. What is the exact "
            "average weight of a stone in the box, in grams?",
        ),
    )

    count: Ends = dial(3, 8, "how many numbers, and a third as many groups", least=3, most=30)
    largest: Ends = dial(20, 150, "largest number", least=10)
    turned: Ends = dial(0.2, 0.8, "share without a list of the numbers", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        largest = base.steady(self.largest, difficulty)
        if rng.random() >= base.steady(self.turned, difficulty):
            numbers = [base.whole(rng, 2, largest) for _ in range(count)]
            total, known = sum(numbers), sum(numbers[:-1])
            average = Fraction(total, count)
            return Drawn(
                ask="missing",
                values={"count": count, "average": average, "known": numbers[:-1]},
                gold=gold.integer(numbers[-1]),
                steps=f"All numbers together are ${count} \\cdot {ratio_text(average)} = {total}$, "
                f"and the known ones ${' + '.join(map(str, numbers[:-1]))} = {known}$. The other "
                f"one is ${total} - {known}$.",
            )
        if rng.random() < 0.5:
            numbers = [base.whole(rng, 8, largest) for _ in range(count)]
            total, gone = sum(numbers), numbers[-1]
            average, after = Fraction(total, count), Fraction(total - gone, count - 1)
            return Drawn(
                ask="removed",
                values={"count": count, "average": average, "after": after},
                gold=gold.integer(gone),
                steps=f"All together are ${count} \\cdot {ratio_text(average)} = {total}$, and "
                f"those that stay ${count - 1} \\cdot {ratio_text(after)} = {total - gone}$. The "
                f"one taken away is ${total} - {total - gone}$.",
            )
        groups = 2 + count // 4
        sizes = [base.whole(rng, 2, largest / 3) for _ in range(groups)]
        averages = [Fraction(base.whole(rng, 16, largest)) for _ in range(groups)]
        if difficulty > 0.4:
            averages = [each + Fraction(base.whole(rng, 0, 3), 4) for each in averages]
        sums = [size * average for size, average in zip(sizes, averages, strict=True)]
        products = " + ".join(
            f"{size} \\cdot {ratio_text(average)}"
            for size, average in zip(sizes, averages, strict=True)
        )
        all_sums = sum(sums, Fraction(0))
        return Drawn(
            ask="groups",
            values={"sizes": sizes, "averages": averages},
            gold=gold.rational(all_sums / sum(sizes)),
            steps=f"All together are ${products} = {ratio_text(all_sums)}$, divided among "
            f"${' + '.join(map(str, sizes))} = {sum(sizes)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Around an average, what is above and what is below it cancel.
        if ask == "missing":
            average = values["average"]
            found = average - sum(each - average for each in values["known"])
            fits = len(values["known"]) + 1 == values["count"] and found == int(found)
            return gold.integer(int(found)) if fits else None
        if ask == "removed":
            change = values["average"] - values["after"]
            found = Fraction(values["average"] + (values["count"] - 1) * change)
            return gold.integer(int(found)) if found == int(found) else None
        # Groups join one after the other, each drawing the average towards its own.
        together, average = 0, Fraction(0)
        if len(values["sizes"]) != len(values["averages"]):
            return None
        for size, other in zip(values["sizes"], values["averages"], strict=True):
            together += size
            average += (other - average) * Fraction(size, together)
        return gold.rational(average)
