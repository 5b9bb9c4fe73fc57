"""Counting by inclusion and exclusion."""

from __future__ import annotations

import itertools
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
class CountInRange(Family):
    """How many numbers of a range are divisible by some, none or exactly one of several numbers."""

    name = "count-in-range"
    tag = "number-theory/divisibility"
    wordings = Wordings(
        some=(
            "How many integers $n$ with $<low> \\le n \\le <high>$ are divisible by at least one "
            "of the numbers <divisors:integers>?",
            "Count the integers from $<low>$ to $<high>$, both included, that are multiples of "
            "at least one of <divisors:integers>.",
        ),
        none=(
            "How many integers from $<low>$ to $<high>$, both included, are divisible by none of "
            "the numbers <divisors:integers>?",
            "From the list of the integers $<low>$ to $<high>$, both included, all multiples of "
            "each of the numbers <divisors:integers> are struck out. How many are left?",
        ),
        exactly=(
            "How many integers $n$ with $<low> \\le n \\le <high>$ are divisible by exactly one of "
            "the numbers <divisors:integers>?",
            "Count the integers from $<low>$ to $<high>$, both included, that are multiples of "
            "exactly one of the numbers <divisors:integers>.",
        ),
    )

    high: Ends = dial(60, 3000, "upper end of the range", least=40, most=20_000)
    count: Ends = dial(2, 3.5, "how many divisors", least=2, most=4)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        high = base.whole(rng, 40, base.slow_start(self.high, difficulty))
        low = 1 if rng.random() < 0.4 else base.whole(rng, 2, high // 2)
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        divisors = base.distinct(rng, count, 2, 8 + round(high / 200))
        for index in range(count):  # no multiple of another, which would be idle
            while any(
                divisors[index] % other == 0 or other % divisors[index] == 0
                for place, other in enumerate(divisors)
                if place != index
            ):
                divisors[index] += 1
        ask = base.chosen(rng, ("some", "none", "exactly") if count == 2 else ("some", "none"))
        rows, total = [], 0
        for size in range(1, count + 1):
            sign, part = (-1) ** (size + 1), 0
            for chosen in itertools.combinations(divisors, size):
                multiple = math.lcm(*chosen)
                found = high // multiple - (low - 1) // multiple
                rows.append(f"{found} by {multiple}")
                part += found
            total += sign * part * (size if ask == "exactly" else 1)
        steps = (
            f"Numbers divisible by several of them are divisible by their least common multiple. "
            f"From ${low}$ to ${high}$ there are divisible: {', '.join(rows)}. "
        )
        if ask == "exactly":
            both = [int(row.split(" ")[0]) for row in rows]
            steps += f"Leave out those counted twice: ${both[0]} + {both[1]} - 2 \\cdot {both[2]}$."
        else:
            steps += (
                f"Adding those of one number, subtracting those of two and so on gives ${total}$ "
                "that are divisible by at least one."
            )
        if ask == "none":
            steps += f" The others are ${high - low + 1} - {total} = {high - low + 1 - total}$."
            total = high - low + 1 - total
        return Drawn(
            ask=ask,
            values={"low": low, "high": high, "divisors": divisors},
            gold=gold.integer(total),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        low, high = values["low"], values["high"]
        length = high - low + 1
        hit = bytearray(length)
        twice = bytearray(length)
        for divisor in values["divisors"]:
            for place in range(-low % divisor, length, divisor):
                twice[place] |= hit[place]
                hit[place] = 1
        some = sum(hit)
        if ask == "exactly":
            return gold.integer(some - sum(twice))
        return gold.integer(some if ask == "some" else length - some)
