"""Probability: coins and dice."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.gym.adapter import Adapted
from limite.problems.procedural import base, gold
from limite.problems.procedural.base import Ends, slow_start, steady
from limite.problems.procedural.family import dial
from limite.problems.procedural.gold import Gold


@attrs.frozen(kw_only=True)
class GymCoinFlip(Adapted):
    """coin_flip: the probability of some heads, exactly; certain outcomes are left out.

    The data set states ten digits; the answer here is the ratio that it keeps beside them.
    """

    name = "gym-coin-flip"
    dataset = "coin_flip"
    tag = "reasoning-gym/probability"

    flips: Ends = dial(6, 40, "most flips", least=3, most=60)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {"max_trials": base.whole_near(rng, steady(self.flips, difficulty))}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        ratio = item["metadata"]["rational"]
        chance = Fraction(ratio["numerator"], ratio["denominator"])
        return gold.rational(chance) if 0 < chance < 1 else None

    def solve(self, question: str) -> Gold | None:
        found = re.search(r"(exactly|at least) (\d{1,3}) heads in (\d{1,3}) fair", question)
        if not found:
            return None
        wanted, flips = int(found[2]), int(found[3])
        chances = [1]  # in how many ways so many heads come, flip by flip
        for _ in range(flips):
            chances = [a + b for a, b in zip([0, *chances], [*chances, 0], strict=True)]
        ways = chances[wanted:] if found[1] == "at least" else chances[wanted : wanted + 1]
        return gold.rational(Fraction(sum(ways), 2**flips))


@attrs.frozen(kw_only=True)
class GymDice(Adapted):
    """dice: the probability that dice of several sizes show at least a sum."""

    name = "gym-dice"
    dataset = "dice"
    tag = "reasoning-gym/probability"

    count: Ends = dial(2, 5, "dice", least=2, most=10)
    sides: Ends = dial(6, 20, "sides of the largest die", least=4, most=60)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {
            "num_dice": base.whole_near(rng, steady(self.count, difficulty)),
            "max_dice_size": round(slow_start(self.sides, difficulty)),
        }

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        above, _, below = item["answer"].partition("/")
        stated = Fraction(int(above), int(below))
        if (str(stated.numerator), str(stated.denominator)) != (above, below):
            return None  # not the reduced fraction that the question asks for
        return gold.rational(stated, lowest=True)

    def solve(self, question: str) -> Gold | None:
        found = re.match(
            r"I have these dice: ([\dd, ]+)\. .*? rolling (\d{1,4}) or higher", question
        )
        if not found:
            return None
        ways = {0: 1}
        for die in found[1].split(", "):
            sides = int(die.removeprefix("1d"))
            if sides > 100:
                return None
            further: dict[int, int] = {}
            for total, count in ways.items():
                for face in range(1, sides + 1):
                    further[total + face] = further.get(total + face, 0) + count
            ways = further
        high = sum(count for total, count in ways.items() if total >= int(found[2]))
        return gold.rational(Fraction(high, sum(ways.values())), lowest=True)
