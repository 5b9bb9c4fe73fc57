"""Direct and inverse proportion, and both together."""

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
class Proportions(Family):
    """Direct and inverse proportion, and several of both at once."""

    name = "proportions"
    tag = "arithmetic/proportions"
    wordings = Wordings(
        words={
            "good": ("notebooks", "tickets", "bricks", "tiles", "bottles"),
            "workers": ("workers", "gardeners", "masons", "robots"),
            "animals": ("horses", "cows", "goats", "rabbits"),
            "product": ("walls", "benches", "toys", "engines"),
        },
        direct=(
            "$<first>$ <good> cost $<amount>$ euros. What do $<second>$ of them cost at the same "
            "price each, in euros? Give the exact amount.",
            "A pump fills $<amount>$ litres in $<first>$ minutes. How many litres does it fill in "
            "$<second>$ minutes? Give the exact number.",
        ),
        inverse=(
            "$<first>$ <workers> finish a job in $<amount>$ days. How many days do $<second>$ of "
            "them need, if all work equally fast? Give the exact number.",
            "A store of hay lasts $<first>$ <animals> for $<amount>$ days. For how many days does "
            "it last $<second>$ of them? Give the exact number.",
        ),
        compound=(
            "$<first>$ <workers> make $<made>$ <product> in $<amount>$ days. How many days do "
            "$<second>$ of them need for $<wanted>$ <product>, if all work equally fast? Give the "
            "exact number.",
            "To make $<made>$ <product>, $<first>$ <workers> need $<amount>$ days. In how many "
            "days do $<second>$ of them make $<wanted>$ <product> at the same pace? Give the exact "
            "number.",
        ),
        hours=(
            "Working $<long>$ hours a day, $<first>$ <workers> make $<made>$ <product> in "
            "$<amount>$ days. How many days do $<second>$ of them need for $<wanted>$ <product>, "
            "if they work $<short>$ hours a day at the same pace? Give the exact number.",
        ),
    )

    quantities: Ends = dial(1, 4, "how many quantities change, at most", least=1, most=4)
    largest: Ends = dial(12, 40, "largest number", least=8, most=500)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        largest = base.steady(self.largest, difficulty)
        ask = ("direct", "inverse", "compound", "hours")[
            min(base.whole(rng, 0, base.steady(self.quantities, difficulty)), 3)
        ]
        first, second = base.distinct(rng, 2, 2, int(largest))
        made, wanted = base.distinct(rng, 2, 2, int(largest))
        long, short = base.distinct(rng, 2, 4, 10)
        amount = base.whole(rng, 3, largest)
        values = {"first": first, "second": second, "made": made, "wanted": wanted}
        values |= {"long": long, "short": short, "amount": amount}
        if ask == "direct":
            one = Fraction(amount, first)
            steps, result = [f"for one it is ${amount} \\div {first} = {ratio_text(one)}$"], one
            result *= second
            steps.append(f"so for ${second}$ it is ${second} \\cdot {ratio_text(one)}$")
        else:
            result = Fraction(first * amount)
            steps = [f"one alone needs ${first} \\cdot {amount} = {result}$ days"]
            if ask != "inverse":
                result = result / made
                steps.append(
                    f"for one piece ${first * amount} \\div {made} = {ratio_text(result)}$"
                )
                before, result = result, result * wanted
                steps.append(
                    f"for ${wanted}$ pieces ${wanted} \\cdot {ratio_text(before)} = "
                    f"{ratio_text(result)}$"
                )
            if ask == "hours":
                before, result = result, result * long / short
                steps.append(
                    f"with ${short}$ hours a day instead of ${long}$ it is "
                    f"${ratio_text(before)} \\cdot {long} \\div {short} = {ratio_text(result)}$"
                )
            steps.append(f"and ${second}$ together need ${ratio_text(result)} \\div {second}$ days")
            result /= second
        text = ", ".join(steps)
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.rational(result),
            steps=f"{text[0].upper()}{text[1:]}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # What stays the same: price for one, or pieces by all hours of all workers.
        if ask == "direct":
            return gold.rational(values["amount"] * Fraction(values["second"], values["first"]))
        effort = values["first"] * values["amount"] * values.get("long", 1)
        pace = Fraction(values.get("made", 1), effort)
        daily = pace * values["second"] * values.get("short", 1)
        return gold.rational(values.get("wanted", 1) / daily)
