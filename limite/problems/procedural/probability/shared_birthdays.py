"""Whether some of several choices are the same."""

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

_SCENES = (
    "Each of $<people>$ people thinks of an integer from $1$ to $<values>$ at random, with the "
    "same "
    "probability for each number and independently of the others. What is the probability that",
    "A fair die with faces numbered from $1$ to $<values>$ is rolled $<people>$ times. What is the "
    "probability that",
)


@attrs.frozen(kw_only=True)
class SharedBirthdays(Family):
    """The probability that some of several random choices are the same."""

    name = "shared-birthdays"
    tag = "probability/coincidences"
    wordings = Wordings(
        different=[f"{scene} no number comes up twice?" for scene in _SCENES],
        shared=[f"{scene} some number comes up more than once?" for scene in _SCENES],
        one_pair=[
            f"{scene} exactly one number comes up twice and every other number at most once?"
            for scene in _SCENES
        ],
        mine=(f"{_SCENES[1]} the number rolled first comes up again?",),
    )

    people: Ends = dial(2, 5, "how many choices", least=2, most=10)
    values: Ends = dial(9, 80, "how many values there are", least=4, most=400)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        people = max(2, base.whole_near(rng, base.steady(self.people, difficulty)))
        top = base.steady(self.values, difficulty)
        values = base.whole(rng, max(people, 4), max(top, people + 2))
        ask = base.rising(rng, ("different", "mine", "shared", "one_pair"), difficulty)
        if ask in ("one_pair", "mine") and people == 2:
            people = 3
        total = values**people
        distinct = math.perm(values, people)
        factors = " \\cdot ".join(str(values - each) for each in range(people))
        if ask == "mine":
            good = total - values * (values - 1) ** (people - 1)
            steps = (
                f"Each of the other ${people - 1}$ differs from the first with probability "
                f"$\\frac{{{values - 1}}}{{{values}}}$, all of them with probability "
                f"$\\frac{{{(values - 1) ** (people - 1)}}}{{{values ** (people - 1)}}}$. "
                f"Otherwise it comes up again: $1 - \\frac{{{(values - 1) ** (people - 1)}}}"
                f"{{{values ** (people - 1)}}}$."
            )
        elif ask == "one_pair":
            rest = math.perm(values, people - 1)
            pairs = math.comb(people, 2)
            good = pairs * rest
            factors = " \\cdot ".join(str(values - each) for each in range(people - 1))
            steps = (
                f"Choose which two agree, $\\binom{{{people}}}{{2}} = {pairs}$ ways, and different "
                f"numbers for the pair and the others, ${factors} = {rest}$ ways: ${good}$ of "
                f"${values}^{{{people}}} = {total}$ outcomes."
            )
        else:
            good = distinct
            steps = (
                f"All differ in ${factors} = {distinct}$ of ${values}^{{{people}}} = {total}$ "
                "outcomes."
            )
            if ask == "shared":
                good = total - distinct
                steps += f" In the other ${total} - {distinct} = {good}$, some agree."
        return Drawn(
            ask=ask,
            values={"people": people, "values": values},
            gold=gold.rational(Fraction(good, total)),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Choice after choice: by how many values have come, or by whether the first came again.
        people, kinds = values["people"], values["values"]
        if ask == "mine":
            again, never = 0, 1
            for _ in range(people - 1):
                again, never = again * kinds + never, never * (kinds - 1)
            return gold.rational(Fraction(again, kinds ** (people - 1)))
        seen = [1] + [0] * people
        for _ in range(people):
            seen = [
                seen[now] * now + (seen[now - 1] * (kinds - now + 1) if now else 0)
                for now in range(people + 1)
            ]
        # With one value fewer than choices, exactly one has come twice.
        good = {
            "different": seen[people],
            "shared": sum(seen[:people]),
            "one_pair": seen[people - 1],
        }[ask]
        return gold.rational(Fraction(good, kinds**people))
