"""The largest and smallest of several numbers drawn at random."""

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

_DICE = "$<count>$ fair dice, each with faces numbered from $1$ to $<faces>$, are rolled."
_CARDS = (
    "From cards numbered from $1$ to $<faces>$, $<count>$ are drawn at random without putting any "
    "back."
)


@attrs.frozen(kw_only=True)
class ExtremeDice(Family):
    """The largest or smallest number on several dice or cards: its chances and its mean."""

    name = "extreme-dice"
    tag = "probability/expectation"
    wordings = Wordings(
        largest=(
            f"{_DICE} What is the expected value of the largest number shown?",
            f"{_DICE} Find the mean of the largest of the numbers.",
        ),
        smallest=(
            f"{_DICE} What is the expected value of the smallest number shown?",
            f"{_DICE} Find the mean of the smallest of the numbers.",
        ),
        is_largest=(
            f"{_DICE} What is the probability that the largest number shown is $<number>$?",
        ),
        spread=(
            f"{_DICE} What is the expected value of the difference between the largest and the "
            "smallest number shown?",
        ),
        largest_card=(f"{_CARDS} What is the expected value of the largest number drawn?",),
        is_largest_card=(
            f"{_CARDS} What is the probability that the largest number drawn is $<number>$?",
        ),
    )

    count: Ends = dial(2, 4, "how many dice or cards", least=2, most=8)
    faces: Ends = dial(6, 30, "most faces", least=4, most=60)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        most = base.steady(self.faces, difficulty)
        faces = base.whole(rng, max(4, int(most) - 15), most)
        ask = base.rising(
            rng,
            ("is_largest", "is_largest_card", "smallest", "largest", "largest_card", "spread"),
            difficulty,
        )
        cards = ask.endswith("card")
        if cards:
            count, faces = min(count, faces - 2), base.whole(rng, faces, 3 * faces)
        number = base.whole(rng, max(2, count if cards else 2), faces)
        values = {"count": count, "faces": faces, "number": number}
        total = faces**count
        powers = [each**count for each in range(faces + 1)]
        if ask == "is_largest":
            good = powers[number] - powers[number - 1]
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(Fraction(good, total)),
                steps=f"All numbers are at most ${number}$ in ${number}^{{{count}}} = "
                f"{powers[number]}$ of ${total}$ outcomes, and at most ${number - 1}$ in "
                f"${powers[number - 1]}$. The difference is ${good}$.",
            )
        if ask == "is_largest_card":
            good, choices = _choose(number - 1, count - 1), _choose(faces, count)
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(Fraction(good, choices)),
                steps=f"Of $\\binom{{{faces}}}{{{count}}} = {choices}$ choices, those with the "
                f"card ${number}$ count in which all others are smaller: "
                f"$\\binom{{{number - 1}}}{{{count - 1}}} = {good}$.",
            )
        if ask == "largest_card":
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(Fraction(count * (faces + 1), count + 1)),
                steps=f"The ${count}$ cards leave ${count + 1}$ gaps, before, between and behind "
                f"them, for the other ${faces - count}$ numbers, and each gap has the same mean "
                f"$\\frac{{{faces - count}}}{{{count + 1}}}$. The largest is ${faces}$ less the "
                f"last gap: ${faces} - \\frac{{{faces - count}}}{{{count + 1}}}$.",
            )
        below = sum(powers[:faces])  # over all numbers, the outcomes that stay below
        shown = " + ".join(f"{each}^{{{count}}}" for each in range(1, faces))
        if faces > 9:
            shown = f"1 + 2^{{{count}}} + \\dots + {faces - 1}^{{{count}}}"
        if ask == "spread":
            found = Fraction((faces - 1) * total - 2 * below, total)
            steps = (
                f"Count the steps from $k$ to $k + 1$ for $k = 1, \\dots, {faces - 1}$: such a "
                f"step lies between the smallest and the largest number unless all are at most "
                f"$k$, in $k^{{{count}}}$ outcomes, or all are above, in "
                f"$({faces} - k)^{{{count}}}$. With ${shown} = {below}$, the mean is "
                f"${faces - 1} - \\frac{{2 \\cdot {below}}}{{{total}}}$."
            )
        elif ask == "largest":
            found = Fraction(faces * total - below, total)
            steps = (
                f"The largest number is the count of $k = 0, 1, \\dots, {faces - 1}$ that it "
                f"exceeds, and it is at most $k$ in $k^{{{count}}}$ of ${total}$ outcomes. So the "
                f"mean is ${faces} - \\frac{{{shown}}}{{{total}}} = {faces} - "
                f"\\frac{{{below}}}{{{total}}}$."
            )
        else:
            found = Fraction(total + below, total)
            steps = (
                f"The smallest number is the count of $k = 1, \\dots, {faces}$ that it reaches, "
                f"and it is at least $k$ in $({faces + 1} - k)^{{{count}}}$ of ${total}$ outcomes. "
                f"So the mean is $\\frac{{{faces}^{{{count}}} + \\dots + 2^{{{count}}} + 1}}"
                f"{{{total}}} = \\frac{{{total + below}}}{{{total}}}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.rational(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        count, faces = values["count"], values["faces"]
        if ask.endswith("card"):
            # Card after card: the number of choices with each largest number.
            ways = [1] + [0] * faces
            for _ in range(count):
                before, ways = ways, [0] * (faces + 1)
                below = 0
                for largest in range(1, faces + 1):
                    below += before[largest - 1]
                    ways[largest] = below
        elif ask == "spread":
            # By the difference: outcomes within a stretch of numbers that touch both its ends.
            found = sum(
                (faces - wide)
                * wide
                * ((wide + 1) ** count - 2 * wide**count + (wide - 1) ** count)
                for wide in range(1, faces)
            )
            return gold.rational(Fraction(found, faces**count))
        else:
            # Die after die: the number of outcomes with each largest (or smallest) number.
            ways = [0] + [1] * faces
            for _ in range(count - 1):
                before, ways, below = ways, [0] * (faces + 1), 0
                for largest in range(1, faces + 1):
                    ways[largest] = before[largest] * largest + below
                    below += before[largest]
        total = sum(ways)
        if ask.startswith("is"):
            return gold.rational(Fraction(ways[values["number"]], total))
        mean = Fraction(sum(each * times for each, times in enumerate(ways)), total)
        return gold.rational(faces + 1 - mean if ask == "smallest" else mean)


def _choose(total: int, count: int) -> int:
    found = 1
    for each in range(count):
        found = found * (total - each) // (each + 1)
    return found
