"""Right triangles with whole sides, and differences of squares."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import divisors
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class RightTriangles(Family):
    """Right triangles with whole sides and one side given, and differences of two squares."""

    name = "right-triangles"
    tag = "number-theory/pythagorean"
    wordings = Wordings(
        legs=(
            "How many right triangles with integer side lengths have a leg of length $<number>$? "
            "(Congruent triangles count once.)",
            "In how many ways can $<number>$ be a leg of a right triangle whose three sides are "
            "positive integers? Congruent triangles count once.",
        ),
        largest=(
            "A right triangle has integer side lengths, and one of its legs has length "
            "$<number>$. What is the largest possible length of the hypotenuse?",
            "Find the largest integer $c$ for which a right triangle with integer sides has a leg "
            "$<number>$ and the hypotenuse $c$.",
        ),
        difference=(
            "How many pairs $(x, y)$ of positive integers satisfy $x^2 - y^2 = <number>$?",
            "In how many ways can $<number>$ be written as a difference of the squares of two "
            "positive integers?",
        ),
        sums=(
            "Find the set of all positive integers $x$ for which $x^2 - <number>$ is the square of "
            "a positive integer.",
            "For which positive integers $x$ is $x^2 - <number>$ the square of a positive integer? "
            "Give the set of all of them.",
        ),
    )

    leg: Ends = dial(15, 72, "largest leg", least=12, most=300)
    number: Ends = dial(40, 6000, "largest difference of squares", least=40, most=20_000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("legs", "largest", "difference", "sums"))
        if ask in ("legs", "largest"):
            number = base.whole(rng, 5, base.steady(self.leg, difficulty))
            if ask == "legs":
                number = _richer(rng, number, 2)
            product, sides = number * number, ("c", "b")
            start = f"With the other leg $b$ and the hypotenuse $c$, $(c - b)(c + b) = {product}$. "
        else:
            number = base.whole(rng, 15, base.slow_start(self.number, difficulty))
            if ask == "difference":
                number = _richer(rng, number, 1)
            if number % 4 == 2:
                number += 1
            product, sides = number, ("x", "y" if ask == "difference" else "a")
            start = f"$(x - {sides[1]})(x + {sides[1]}) = {number}$. "
        pairs = _pairs(product)
        if not pairs:  # 16, for instance, has only the pair of two fours beside unequal ones
            return self._safe(rng)
        listing = ", ".join(f"${low} \\cdot {high}$" for low, high in pairs)
        steps = (
            f"{start}The factors differ, and both are even or both odd, which leaves {listing}. "
        )
        if ask in ("legs", "difference"):
            answer = gold.integer(len(pairs))
            steps += "Each of them gives one solution."
        elif ask == "largest":
            low, high = pairs[0]
            answer = gold.integer((low + high) // 2)
            steps += (
                f"The hypotenuse is half the sum of the factors, largest for the first: "
                f"$({low} + {high}) \\div 2 = {(low + high) // 2}$."
            )
        else:
            found = [(low + high) // 2 for low, high in pairs]
            answer = gold.finite_set(found)
            steps += f"Half their sums are the values of $x$: ${', '.join(map(str, found))}$."
        return Drawn(ask=ask, values={"number": number}, gold=answer, steps=steps.strip())

    def _safe(self, rng: random.Random) -> Drawn:
        number = 2 * base.whole(rng, 8, 20) + 1
        return Drawn(
            ask="largest",
            values={"number": number},
            gold=gold.integer((number * number + 1) // 2),
            steps="With the other leg $b$ and the hypotenuse $c$, "
            f"$(c - b)(c + b) = {number * number}$, and $c$ is largest for $c - b = 1$: then "
            f"$2c = {number * number} + 1$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number = values["number"]
        product = number * number if ask in ("legs", "largest") else number
        found, side = [], 1
        while 2 * side + 1 <= product:  # from there on neighbouring squares are too far apart
            root = math.isqrt(product + side * side)
            if root * root == product + side * side:
                found.append(root)
            side += 1
        if ask == "sums":
            return gold.finite_set(found)
        if ask == "largest":
            return gold.integer(max(found)) if found else None
        return gold.integer(len(found))


def _pairs(product: int) -> list[tuple[int, int]]:
    """Different factors of it, both even or both odd, the smaller first."""
    return [
        (d, product // d)
        for d in divisors(product)
        if d * d < product and (d + product // d) % 2 == 0
    ]


def _richer(rng: random.Random, number: int, power: int) -> int:
    """Often the next number whose power has several pairs: most have one."""
    for candidate in range(number, number + 10):
        if len(_pairs(candidate**power)) > 1 and rng.random() < 0.3 * power:
            return candidate
    return number
