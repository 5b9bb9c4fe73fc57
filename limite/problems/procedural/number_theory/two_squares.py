"""Sums of two squares."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import PRIMES, factorise, product_text
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class TwoSquares(Family):
    """In how many ways a number is a sum of two squares, and whether it is one at all."""

    name = "two-squares"
    tag = "number-theory/sums-of-squares"
    wordings = Wordings(
        lattice=(
            "How many pairs $(x, y)$ of integers (positive, negative or zero) satisfy "
            "$x^2 + y^2 = <number>$?",
            "How many points with integer coordinates lie on the circle $x^2 + y^2 = <number>$?",
        ),
        ways=(
            "In how many ways can $<number>$ be written as a sum $a^2 + b^2$ with integers "
            "$0 \\le a \\le b$?",
            "How many pairs $(a, b)$ of integers with $0 \\le a \\le b$ satisfy "
            "$a^2 + b^2 = <number>$?",
        ),
        possible=(
            "Is $<number>$ the sum of the squares of two integers (zero allowed)? Answer yes or "
            "no.",
            "Are there integers $x$ and $y$ with $x^2 + y^2 = <number>$? Answer yes or no.",
        ),
    )

    number: Ends = dial(120, 100_000, "largest number", least=60)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        top = base.slow_start(self.number, difficulty)
        ask = base.chosen(rng, ("lattice", "ways", "possible"))
        number = base.whole(rng, 1, 2)
        fours = [p for p in PRIMES[:16] if p % 4 == 1]
        threes = [p for p in PRIMES[:12] if p % 4 == 3]
        wrong = ask == "possible" and rng.random() < 0.5
        if wrong:  # a prime that is 3 modulo 4, to an odd power
            number *= base.chosen(rng, threes)
        elif number * 9 * 5 < top and rng.random() < 0.3:
            number *= base.chosen(rng, threes[:2]) ** 2 if number * 49 * 5 < top else 9
        while number * 5 <= top:
            room = [p for p in fours if number * p <= top]
            number *= base.chosen(rng, room)
            if number > 20 and rng.random() < 0.25:
                break
        while number * 2 <= top and (number < 10 or rng.random() < 0.4):
            number *= 2
        factors = factorise(number)
        odd = [p for p, e in factors.items() if p % 4 == 3 and e % 2]
        good = {p: e for p, e in factors.items() if p % 4 == 1}
        count = 0 if odd else 4 * math.prod(e + 1 for e in good.values())
        steps = (
            f"${number} = {product_text(factors)}$."
            if product_text(factors) != str(number)
            else f"${number}$ is prime."
        )
        if ask == "possible":
            steps += (
                f" The prime ${odd[0]}$ leaves the remainder $3$ on division by $4$ and has an odd "
                "exponent, which no sum of two squares has."
                if odd
                else " No prime with the remainder $3$ on division by $4$ has an odd exponent, so "
                f"by Fermat's theorem it is one: {_example(number)}."
            )
            return Drawn(
                ask=ask, values={"number": number}, gold=gold.boolean(not odd), steps=steps
            )
        if good:
            product = " \\cdot ".join(["4", *(f"({e} + 1)" for e in good.values())])
            steps += (
                " The primes with remainder $1$ on division by $4$ have the exponents "
                f"${', '.join(map(str, good.values()))}$, those with remainder $3$ have even ones, "
                f"so there are ${product} = {count}$ "
                "pairs of integers."
            )
        else:
            steps += (
                " It has no prime factor with remainder $1$ on division by $4$, so there are "
                f"${count}$ pairs of integers."
            )
        if ask == "lattice":
            return Drawn(ask=ask, values={"number": number}, gold=gold.integer(count), steps=steps)
        # Pairs on the axes or the diagonals come in fours, all others in eights.
        single = math.isqrt(number) ** 2 == number or 2 * math.isqrt(number // 2) ** 2 == number
        ways = (count + 4) // 8 if single else count // 8
        steps += (
            " Signs and order give eight pairs for each way, but only four for the one with "
            f"$a = 0$ or $a = b$: $({count} - 4) \\div 8 + 1 = {ways}$."
            if single
            else f" Signs and order give eight pairs for each way: ${count} \\div 8 = {ways}$."
        )
        return Drawn(ask=ask, values={"number": number}, gold=gold.integer(ways), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number = values["number"]
        lattice = ways = 0
        for x in range(math.isqrt(number) + 1):
            rest = number - x * x
            y = math.isqrt(rest)
            if y * y == rest:
                lattice += (2 if x else 1) * (2 if y else 1)
                ways += x <= y
        if ask == "possible":
            return gold.boolean(lattice > 0)
        return gold.integer(lattice if ask == "lattice" else ways)


def _example(number: int) -> str:
    for x in range(math.isqrt(number) + 1):
        y = math.isqrt(number - x * x)
        if x * x + y * y == number:
            return f"${number} = {x}^2 + {y}^2$"
    raise ValueError(number)
