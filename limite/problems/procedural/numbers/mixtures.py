"""Mixtures of two solutions, and solutions that are diluted or strengthened."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class Mixtures(Family):
    """The strength of a mixture, or how much of one part must be added."""

    name = "mixtures"
    tag = "arithmetic/mixtures"
    wordings = Wordings(
        words={"solute": ("alcohol", "acid", "glycerine", "antifreeze")},
        strength=(
            "$<first>$ kg of a solution with $<low>\\%$ of <solute> and $<second>$ kg of one with "
            "$<high>\\%$ of <solute> are mixed (percentages by mass). What percentage of the "
            "mixture is <solute>?",
            "How strong, in percent by mass, is the mixture of $<first>$ kg of <solute> solution "
            "at $<low>\\%$ and $<second>$ kg of <solute> solution at $<high>\\%$?",
        ),
        added=(
            "How many kilograms of a solution with $<high>\\%$ of <solute> must be added to "
            "$<first>$ kg of one with $<low>\\%$, so that the mixture has $<wanted>\\%$ "
            "(percentages by mass)?",
            "To $<first>$ kg of <solute> solution at $<low>\\%$, stronger solution at $<high>\\%$ "
            "is added until the mixture is at $<wanted>\\%$ (percentages by mass). How many "
            "kilograms of the stronger solution are needed?",
        ),
        water=(
            "How many kilograms of water must be added to $<first>$ kg of a solution with "
            "$<high>\\%$ of <solute>, so that one with $<wanted>\\%$ results (percentages by "
            "mass)?",
        ),
        dried=(
            "How many kilograms of water must evaporate from $<second>$ kg of a solution with "
            "$<wanted>\\%$ of <solute>, so that one with $<high>\\%$ is left (percentages by "
            "mass)?",
        ),
    )

    amount: Ends = dial(20, 300, "largest amount in kg, before it is made to fit", least=10)
    spread: Ends = dial(10, 60, "largest difference between two strengths", least=4, most=80)
    turned: Ends = dial(0, 0.8, "share that asks for an amount", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        spread = base.whole_near(rng, base.steady(self.spread, difficulty))
        ask = "strength"
        if rng.random() < base.steady(self.turned, difficulty):
            ask = base.chosen(rng, ("added", "added", "water", "dried"))
        above = base.whole(rng, 1, spread - 1)
        below = spread - above
        wanted = below if ask in ("water", "dried") else base.whole(rng, below + 1, 95 - above)
        low, high = wanted - below, wanted + above
        shared = math.gcd(above, below)
        unit = base.whole(rng, 2, max(3.0, base.steady(self.amount, difficulty) * shared / spread))
        first, second = above // shared * unit, below // shared * unit
        values = {"first": first, "second": second, "low": low, "high": high, "wanted": wanted}
        if ask == "strength":
            total = first * low + second * high
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.integer(wanted, unit="%"),
                steps=f"In hundredths of a kilogram, the mixture holds ${first} \\cdot {low} + "
                f"{second} \\cdot {high} = {total}$ of it, in ${first} + {second} = "
                f"{first + second}$ kg, which is ${total} \\div {first + second} = {wanted}$ in "
                f"every kilogram.",
            )
        if ask == "added":
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.integer(second, unit="kg"),
                steps=f"Every kilogram of the weaker one lacks ${wanted} - {low} = {below}$ "
                f"hundredths, ${first} \\cdot {below} = {first * below}$ in all. Every kilogram "
                f"of the stronger one has ${high} - {wanted} = {above}$ to spare, so "
                f"${first * below} \\div {above}$ kg are needed.",
            )
        if ask == "water":
            # The solution is the stronger part here, and the water the other.
            solution, water = second, first
            values["first"] = solution
            after = solution + water
            steps = (
                f"The solution holds ${solution} \\cdot {high} = {solution * high}$ hundredths of "
                f"a kilogram. At ${wanted}$ in every kilogram that is enough for "
                f"${solution * high} \\div {wanted} = {after}$ kg, so the water is "
                f"${after} - {solution}$ kg."
            )
        else:
            solution, water = second, first
            values["second"] = solution + water
            held = wanted * (solution + water)
            steps = (
                f"The solution holds ${solution + water} \\cdot {wanted} = {held}$ hundredths of "
                f"a kilogram. At ${high}$ in every kilogram these are in ${held} \\div {high} = "
                f"{solution}$ kg, so ${solution + water} - {solution}$ kg evaporate."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(water, unit="kg"), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "strength":
            # The strength at which what one part has too much is what the other lacks.
            for percent in range(values["low"], values["high"] + 1):
                lacking = values["first"] * (percent - values["low"])
                if lacking == values["second"] * (values["high"] - percent):
                    return gold.integer(percent, unit="%")
            return None
        # Kilograms are added, or dry away, one after the other until the strength is right.
        change, strength = 1, 0
        if ask == "added":
            mass, strength = values["first"], values["high"]
            held = mass * values["low"]
        elif ask == "water":
            mass, held = values["first"], values["first"] * values["high"]
        else:
            mass, held, change = values["second"], values["second"] * values["wanted"], -1
        wanted = values["high"] if ask == "dried" else values["wanted"]
        for kilograms in range(1, 100_000):
            held += strength
            mass += change
            if held == wanted * mass:
                return gold.integer(kilograms, unit="kg")
            if mass <= 0:
                break
        return None
