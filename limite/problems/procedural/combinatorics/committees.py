"""Committees chosen from two groups."""

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
class Committees(Family):
    """How many committees can be chosen from two groups under a condition."""

    name = "committees"
    tag = "combinatorics/selections"
    wordings = Wordings(
        words={
            "first": ("violinists", "flautists", "trumpeters", "harpists"),
            "second": ("drummers", "pianists", "singers", "dancers"),
            "one": ("Ana", "Ines", "Mara", "Noor"),
            "other": ("Luc", "Tom", "Emil", "Ravi"),
        },
        exactly=(
            "A committee of $<size>$ people is chosen from $<women>$ <first> and $<men>$ <second>. "
            "In how many ways can this be done if the number of <first> in it must be exactly "
            "$<least>$?",
            "From $<women>$ <first> and $<men>$ <second>, a team of $<size>$ people is formed. How "
            "many teams are there in which the number of <first> is exactly $<least>$?",
        ),
        at_least=(
            "A committee of $<size>$ people is chosen from $<women>$ <first> and $<men>$ <second>. "
            "In how many ways can this be done if the number of <first> in it must be at least "
            "$<least>$?",
            "From $<women>$ <first> and $<men>$ <second>, a team of $<size>$ people is formed. How "
            "many teams are there in which the number of <first> is $<least>$ or more?",
        ),
        quarrel=(
            "A committee of $<size>$ people is chosen from $<women>$ <first> and $<men>$ <second>. "
            "The number of <first> in it must be at least $<least>$. <one>, one of the <first>, "
            "and <other>, one of the <second>, refuse to serve together. How many committees are "
            "possible?",
            "From $<women>$ <first>, one of whom is <one>, and $<men>$ <second>, one of whom is "
            "<other>, a team of $<size>$ people is formed in which the number of <first> is at "
            "least $<least>$. How many teams do not contain both <one> and <other>?",
        ),
    )

    people: Ends = dial(4, 9, "largest size of each group", least=3, most=15)
    conditions: Ends = dial(0, 1, "share with conditions that need several cases", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        women = base.whole(rng, 3, base.steady(self.people, difficulty))
        men = base.whole(rng, 3, base.steady(self.people, difficulty))
        size = base.whole(rng, 3, min(women + men - 2, 3 + 4 * difficulty))
        least = base.whole(rng, max(1, size - men + 1), min(women, size - 1))
        values = {"women": women, "men": men, "size": size, "least": least}
        if rng.random() >= base.steady(self.conditions, difficulty):
            found = math.comb(women, least) * math.comb(men, size - least)
            return Drawn(
                ask="exactly",
                values=values,
                gold=gold.integer(found),
                steps=f"Choose the ${least}$ from the first group and the other ${size - least}$ "
                f"from the second: ${_term(women, least, men, size)} = {math.comb(women, least)} "
                f"\\cdot {math.comb(men, size - least)} = {found}$.",
            )
        numbers = range(least, min(women, size) + 1)
        found = sum(math.comb(women, each) * math.comb(men, size - each) for each in numbers)
        cases = " + ".join(_term(women, each, men, size) for each in numbers)
        steps = (
            f"Add the cases of {least} to {numbers[-1]} from the first group: ${cases} = {found}$."
        )
        if len(numbers) == 1:
            steps = f"All the people from the first group are in it: ${cases} = {found}$."
        if rng.random() < 0.5:
            return Drawn(ask="at_least", values=values, gold=gold.integer(found), steps=steps)
        both = sum(
            math.comb(women - 1, each - 1) * math.comb(men - 1, size - each - 1)
            for each in numbers
            if each < size
        )
        return Drawn(
            ask="quarrel",
            values=values,
            gold=gold.integer(found - both),
            steps=f"First leave the quarrel aside. {steps} With both of the two in it, one fewer "
            f"is chosen from what is left of each group, which gives ${both}$ in the same way. "
            f"These are taken away: ${found} - {both} = {found - both}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Person after person, who is taken or left: ways to have so many of each group. The two
        # who quarrel come last.
        women, men, size = values["women"], values["men"], values["size"]
        pair = 1 if ask == "quarrel" else 0
        ways = {(0, 0): 1}
        for of_first in [1] * (women - pair) + [0] * (men - pair):
            taken = dict(ways)
            for (first, second), count in ways.items():
                if first + second < size:
                    grown = (first + of_first, second + 1 - of_first)
                    taken[grown] = taken.get(grown, 0) + count
            ways = taken
        found = 0
        for of_first, of_second in ((0, 0), (1, 0), (0, 1)) if pair else ((0, 0),):
            for (first, second), count in ways.items():
                number = first + of_first
                if number + second + of_second == size and (
                    number == values["least"] or (ask != "exactly" and number > values["least"])
                ):
                    found += count
        return gold.integer(found)


def _term(women: int, number: int, men: int, size: int) -> str:
    return f"\\binom{{{women}}}{{{number}}} \\cdot \\binom{{{men}}}{{{size - number}}}"
