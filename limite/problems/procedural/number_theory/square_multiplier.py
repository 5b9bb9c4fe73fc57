"""What makes a number a square or a cube."""

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
class SquareMultiplier(Family):
    """The smallest factor that turns a number into a square or a cube, and similar ones."""

    name = "square-multiplier"
    tag = "number-theory/perfect-powers"
    wordings = Wordings(
        square=(
            "Find the smallest positive integer $k$ such that $<number>k$ is a perfect square.",
            "By which smallest positive integer must $<number>$ be multiplied to give the square "
            "of an integer?",
        ),
        cube=(
            "Find the smallest positive integer $k$ such that $<number>k$ is a perfect cube.",
            "By which smallest positive integer must $<number>$ be multiplied to give the cube "
            "of an integer?",
        ),
        divide=(
            "By which smallest positive integer must $<number>$ be divided to give the square of "
            "an integer?",
            "Find the smallest positive divisor $d$ of $<number>$ for which the quotient "
            "$\\frac{<number>}{d}$ is a perfect square.",
        ),
        root=(
            "Find the smallest positive integer $m$ for which $m^2$ is divisible by $<number>$.",
            "What is the smallest positive integer whose square is a multiple of $<number>$?",
        ),
        cuberoot=(
            "Find the smallest positive integer $m$ for which $m^3$ is divisible by $<number>$.",
        ),
    )

    number: Ends = dial(90, 3000, "largest number", least=40, most=20_000)
    kinds: Ends = dial(2, 5, "how many kinds of question are asked", most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        kinds = base.whole(rng, 1, base.steady(self.kinds, difficulty))
        ask = ("square", "divide", "cube", "root", "cuberoot")[kinds - 1]
        top = base.slow_start(self.number, difficulty)
        if rng.random() < 0.5:
            number = 4 * base.whole(rng, 3, top / 4 - 1)
        else:
            number = base.whole(rng, 12, top)
        while len(factors := factorise(number)) < 2 or max(factors.values()) < 2:
            number += 1
        size = 3 if ask in ("cube", "cuberoot") else 2
        needed = {p: -(-e // size) * size for p, e in factors.items()}
        if ask == "divide":
            other = {p: e % 2 for p, e in factors.items() if e % 2}
        elif ask in ("root", "cuberoot"):
            other = {p: e // size for p, e in needed.items()}
        else:
            other = {p: needed[p] - e for p, e in factors.items() if needed[p] > e}
        answer = product_of(other)
        if not other:  # a square already: ask what is sensible then
            return self._root(number, factors)
        what = {
            "square": "In a square all exponents are even, so the missing factors are",
            "cube": "In a cube all exponents are divisible by 3, so the missing factors are",
            "divide": "In a square all exponents are even, so the factors too many are",
            "root": "Each exponent of $m$ must be at least half of the one here, rounded up, so "
            "$m$ is",
            "cuberoot": "Each exponent of $m$ must be at least a third of the one here, rounded "
            "up, so $m$ is",
        }[ask]
        return Drawn(
            ask=ask,
            values={"number": number},
            gold=gold.integer(answer),
            steps=f"${number} = {product_text(factors)}$. {what} ${product_text(other)} = "
            f"{answer}$."
            if product_text(other) != str(answer)
            else f"${number} = {product_text(factors)}$. {what} ${answer}$.",
        )

    def _root(self, number: int, factors: dict[int, int]) -> Drawn:
        answer = product_of({p: -(-e // 2) for p, e in factors.items()})
        return Drawn(
            ask="root",
            values={"number": number},
            gold=gold.integer(answer),
            steps=f"${number} = {product_text(factors)}$. Each exponent of $m$ must be at least "
            f"half of the one here, rounded up, so $m$ is ${answer}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number = values["number"]
        size = 3 if ask in ("cube", "cuberoot") else 2
        if ask == "divide":
            for root in range(math.isqrt(number), 0, -1):
                if number % (root * root) == 0:
                    return gold.integer(number // (root * root))
        for root in range(1, number + 1):
            if root**size % number == 0:
                return gold.integer(root if "root" in ask else root**size // number)
        return None
