"""The least common multiple of several numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import factorise, product_of, product_text
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class LcmOfSeveral(Family):
    """The least common multiple of several numbers, also as things that happen together again."""

    name = "lcm-of-several"
    tag = "number-theory/lcm"
    wordings = Wordings(
        words={
            "light": (
                "The lighthouses of a coast flash",
                "The fountains of a park spout",
                "The bells of a town ring",
                "The alarms of a laboratory beep",
                "The beacons of an airfield flash",
                "The drummers of a band beat",
            ),
            "sweet": ("sweets", "stickers", "beads", "marbles", "nuts", "pencils", "coins"),
            "place": ("harbour", "park", "station", "school", "museum", "market square"),
        },
        multiple=(
            "Find the least common multiple of <numbers:integers>.",
            "What is the smallest positive integer that is divisible by each of the numbers "
            "<numbers:integers>?",
            "Compute the lowest common multiple of the numbers <numbers:integers>.",
        ),
        together=(
            "<light> all at the same moment, and from then on every <numbers:integers> seconds, "
            "respectively. After how many seconds do they first do so all together again?",
            "At a <place>, buses of several lines leave together in the morning. The lines then "
            "run every <numbers:integers> minutes, respectively. After how many minutes do buses "
            "of all these lines first leave together again?",
        ),
        left=(
            "A box holds more than $<rest>$ <sweet>. Put in groups of <numbers:integers>, "
            "there are $<rest>$ left over each time. What is the smallest number of <sweet> the "
            "box can hold?",
            "Find the smallest integer greater than $<rest>$ that leaves the remainder $<rest>$ "
            "on division by each of the numbers <numbers:integers>.",
        ),
    )

    size: Ends = dial(12, 120, "largest number", least=10, most=2000)
    count: Ends = dial(2, 4, "how many numbers", least=2, most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("multiple", "together", "left"))
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        top = base.whole(rng, 10, base.slow_start(self.size, difficulty))
        numbers = base.distinct(rng, count, 3 + count, top)
        factors = {number: factorise(number) for number in numbers}
        highest: dict[int, int] = {}
        for each in factors.values():
            for prime, exponent in each.items():
                highest[prime] = max(exponent, highest.get(prime, 0))
        highest = dict(sorted(highest.items()))
        answer = product_of(highest)
        split = ", ".join(
            f"${number} = {product_text(each)}$"
            if len(each) > 1 or number not in each
            else f"${number}$ is prime"
            for number, each in factors.items()
        )
        steps = (
            f"Split into primes: {split}. Take every prime with its highest exponent: "
            f"${product_text(highest)} = {answer}$."
        )
        values: dict[str, Any] = {"numbers": numbers}
        if ask == "left":
            values["rest"] = rest = base.whole(rng, 2, min(numbers) - 1)
            steps += f" The number is ${rest}$ more than a common multiple: ${answer} + {rest}$."
            answer += rest
        return Drawn(ask=ask, values=values, gold=gold.integer(answer), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        numbers, rest = values["numbers"], values.get("rest", 0)
        if rest >= min(numbers):
            return None
        common = 1
        for number in numbers:  # two numbers are their gcd times their lcm
            common = common * number // math.gcd(common, number)
        return gold.integer(common + rest)
