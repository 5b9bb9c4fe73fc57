"""Amounts shared in proportion to several numbers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class RatioSharing(Family):
    """Money shared in proportion: a share, a difference between shares, or the whole."""

    name = "ratio-sharing"
    tag = "arithmetic/ratios"
    wordings = Wordings(
        words={
            "group": ("friends", "heirs", "workers", "sisters", "partners"),
            "good": ("sand", "flour", "rice", "gravel", "grain"),
        },
        largest=(
            "$<total>$ euros are shared among <people> <group> in proportion to "
            "$<weights:ratios>$. How many euros is the largest share?",
            "$<total>$ kilograms of <good> are filled into <people> bags in proportion to "
            "$<weights:ratios>$. How many kilograms are in the heaviest bag?",
        ),
        difference=(
            "$<total>$ euros are shared among <people> <group> in proportion to "
            "$<weights:ratios>$. By how many euros does the largest share exceed the smallest?",
            "$<total>$ kilograms of <good> are filled into <people> bags in proportion to "
            "$<weights:ratios>$. How many kilograms heavier is the heaviest bag than the lightest?",
        ),
        total=(
            "An amount of money is shared among <people> <group> in proportion to "
            "$<weights:ratios>$. The largest share exceeds the smallest by $<difference>$ euros. "
            "How many euros are shared in all?",
            "A load of <good> is filled into <people> bags in proportion to $<weights:ratios>$. "
            "The heaviest bag weighs $<difference>$ kilograms more than the lightest. How many "
            "kilograms does the whole load weigh?",
        ),
    )

    people: Ends = dial(2, 5, "how many shares", least=2, most=8)
    weight: Ends = dial(5, 15, "largest number of the proportion", least=5, most=60)
    fractions: Ends = dial(0, 0.6, "share of proportions given by fractions", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        people = base.whole_near(rng, base.steady(self.people, difficulty))
        largest = max(base.whole(rng, 5, base.steady(self.weight, difficulty)), people + 1)
        parts = base.distinct(rng, people, 1, largest)
        bottom = 1
        if rng.random() < base.steady(self.fractions, difficulty):
            bottom = base.chosen(rng, (6, 12, 18, 20, 24, 30))
        unit = base.whole(rng, 2, 20 + 80 * difficulty)
        high, low, count = max(parts), min(parts), sum(parts)
        total = unit * count
        values = {
            "people": people,
            "weights": [Fraction(part, bottom) for part in parts],
            "total": total,
            "difference": unit * (high - low),
        }
        scaled = (
            f"Multiplied by ${bottom}$, the numbers are ${_row(parts)}$. " if bottom > 1 else ""
        )
        counted = f"{scaled}There are ${' + '.join(map(str, parts))} = {count}$ equal parts"
        one = f"{counted}, and one part is ${total} \\div {count} = {unit}$."
        ask = base.chosen(rng, ("largest", "difference", "total"))
        if ask == "largest":
            steps, answer = f"{one} The largest share has ${high}$ parts.", unit * high
        elif ask == "difference":
            answer = unit * (high - low)
            steps = f"{one} In parts, the shares differ by ${high} - {low} = {high - low}$."
        else:
            answer = total
            steps = (
                f"{counted}. In parts, the largest share exceeds the smallest by "
                f"${high} - {low} = {high - low}$, so one part is ${values['difference']} \\div "
                f"{high - low} = {unit}$, and all together are ${count} \\cdot {unit}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(answer), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        weights = values["weights"]
        whole = sum(weights)
        if len(weights) != values["people"]:
            return None
        spread = (max(weights) - min(weights)) / whole
        if ask == "total":
            found = values["difference"] / spread
        else:
            part = max(weights) / whole if ask == "largest" else spread
            found = values["total"] * part
        return gold.integer(found.numerator) if found.denominator == 1 else None


def _row(parts: list[int]) -> str:
    return ", ".join(map(str, parts))
