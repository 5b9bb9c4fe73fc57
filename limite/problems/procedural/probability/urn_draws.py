"""Balls drawn from an urn."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_URN = "An urn holds $<red>$ red and $<blue>$ blue balls. $<drawn>$ balls are drawn at random,"
_WITHOUT = f"{_URN} without putting any back."
_WITH = f"{_URN} one by one, and each is put back before the next is drawn."
_BOX = (
    "In a box of $<red>$ broken and $<blue>$ working lamps, $<drawn>$ lamps are chosen at random, "
    "all at once."
)


@attrs.frozen(kw_only=True)
class UrnDraws(Family):
    """The probability of colours drawn from an urn, with and without putting back."""

    name = "urn-draws"
    tag = "probability/urns"
    wordings = Wordings(
        exactly=(
            f"{_WITHOUT} What is the probability that the number of red balls among them is "
            "exactly $<number>$?",
            f"{_BOX} What is the probability that the number of broken lamps among them is exactly "
            "$<number>$?",
        ),
        at_least=(
            f"{_WITHOUT} What is the probability that the number of red balls among them is at "
            "least $<number>$?",
            f"{_BOX} What is the probability that the number of broken lamps among them is "
            "$<number>$ or more?",
        ),
        same=(
            f"{_WITHOUT} What is the probability that all the balls drawn have the same colour?",
        ),
        mixed=(
            f"{_WITHOUT} What is the probability that both colours are among the balls drawn?",
            f"{_BOX} What is the probability that both broken and working lamps are among them?",
        ),
        put_back=(
            f"{_WITH} What is the probability that the number of draws that give a red ball is "
            "exactly $<number>$?",
        ),
        all_red=(
            f"{_WITHOUT} What is the probability that all of them are red?",
            f"{_BOX} What is the probability that all of them are broken?",
        ),
    )

    balls: Ends = dial(5, 12, "most balls of a colour", least=4, most=60)
    drawn: Ends = dial(2, 4, "how many are drawn", least=2, most=8)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.balls, difficulty)
        count = base.whole_near(rng, base.steady(self.drawn, difficulty))
        red, blue = base.whole(rng, max(3, count), most), base.whole(rng, max(3, count), most)
        ask = base.rising(
            rng,
            ("all_red", "put_back", "exactly", "same", "exactly", "mixed", "at_least"),
            difficulty,
        )
        number = base.whole(rng, 1, count - 1)
        if ask in ("exactly", "at_least", "put_back") and rng.random() < difficulty / 2:
            number = max(1, count // 2)
        values = {"red": red, "blue": blue, "drawn": count, "number": number}
        total = red + blue
        if ask == "put_back":
            ways = math.comb(count, number) * red**number * blue ** (count - number)
            return Drawn(
                ask=ask,
                values={**values, "number": number},
                gold=gold.rational(Fraction(ways, total**count)),
                steps=f"Each draw gives red with probability $\\frac{{{red}}}{{{total}}}$, "
                "whatever "
                f"the others give. There are $\\binom{{{count}}}{{{number}}} = "
                f"{math.comb(count, number)}$ orders, so the probability is "
                f"${math.comb(count, number)} \\cdot \\frac{{{red**number} \\cdot "
                f"{blue ** (count - number)}}}{{{total**count}}}$.",
            )
        counted = {
            "exactly": [number],
            "at_least": list(range(number, count + 1)),
            "same": [0, count],
            "all_red": [count],
            "mixed": [0, count],
        }[ask]
        parts = [math.comb(red, each) * math.comb(blue, count - each) for each in counted]
        choices, good = math.comb(total, count), sum(parts)
        terms = " + ".join(
            f"\\binom{{{red}}}{{{each}}} \\cdot \\binom{{{blue}}}{{{count - each}}}"
            for each in counted
        )
        steps = (
            f"There are $\\binom{{{total}}}{{{count}}} = {choices}$ choices of ${count}$, all "
            f"equally likely. "
        )
        if ask == "mixed":
            steps += (
                f"Of one kind only are ${terms} = {good}$ of them, so both kinds are in "
                f"${choices} - {good} = {choices - good}$."
            )
            good = choices - good
        else:
            steps += f"The wanted ones are ${terms} = {good}$."
        return Drawn(
            ask=ask, values=values, gold=gold.rational(Fraction(good, choices)), steps=steps
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Ball after ball, as ordered draws: ways by how many of them are red.
        red, blue, count = values["red"], values["blue"], values["drawn"]
        back = ask == "put_back"
        ways, total = [1] + [0] * count, 1
        for drawn in range(count):
            total *= red + blue - (0 if back else drawn)
            for reds in range(drawn + 1, -1, -1):
                by_blue = blue - (0 if back else drawn - reds)
                by_red = red - (0 if back else reds - 1)
                ways[reds] = ways[reds] * max(0, by_blue) + (
                    ways[reds - 1] * max(0, by_red) if reds else 0
                )
        number = values.get("number", 0)
        counted = {
            "exactly": ways[number : number + 1],
            "put_back": ways[number : number + 1],
            "at_least": ways[number:],
            "same": [ways[0], ways[count]],
            "all_red": [ways[count]],
            "mixed": ways[1:count],
        }[ask]
        good = sum(counted)
        return gold.rational(Fraction(good, total))
