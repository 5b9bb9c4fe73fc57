"""Linear equations in whole numbers."""

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
class LinearDiophantine(Family):
    """Whole numbers that satisfy a linear equation: the smallest of them, or how many there are."""

    name = "linear-diophantine"
    tag = "number-theory/diophantine"
    wordings = Wordings(
        words={
            "who": ("Mira", "Tomas", "Leila", "Jonas", "Aiko", "Pablo", "Nadia", "Emeka"),
            "first": ("pens", "buns", "postcards", "oranges", "candles"),
            "second": ("books", "pies", "posters", "melons", "lamps"),
        },
        smallest=(
            "Among all pairs of integers $(x, y)$ with $<a>x - <b>y = <c>$, find the one with the "
            "smallest positive $x$. Give $(x, y)$.",
            "Find the integer solution $(x, y)$ of the equation $<a>x - <b>y = <c>$ in which $x$ "
            "is positive and as small as possible.",
        ),
        count=(
            "How many pairs $(x, y)$ of non-negative integers satisfy $<a>x + <b>y = <c>$?",
            "<who> spends exactly $<c>$ crowns on <first> at $<a>$ crowns each and <second> at "
            "$<b>$ crowns each. How many combinations are possible, counting those in which one "
            "of the two things is not bought at all?",
        ),
        positive=(
            "How many pairs $(x, y)$ of positive integers satisfy $<a>x + <b>y = <c>$?",
            "<who> buys <first> at $<a>$ crowns each and <second> at $<b>$ crowns each, at least "
            "one of both, and spends exactly $<c>$ crowns. In how many ways is this possible?",
        ),
    )

    size: Ends = dial(7, 90, "largest coefficient", least=6, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("smallest", "count", "positive"))
        size = base.slow_start(self.size, difficulty)
        a, b = base.distinct(rng, 2, 2, base.whole(rng, 6, size))
        common = math.gcd(a, b)
        x, y = base.whole(rng, 2, size), base.whole(rng, 2, size)
        if ask == "smallest":
            c = base.whole(rng, 1, size) * common
        else:
            c = a * x + b * y
        small_a, small_b, small_c = a // common, b // common, c // common
        step = small_b
        first = small_c * pow(small_a, -1, step) % step if step > 1 else 0
        steps = ""
        if common > 1:
            sign = "-" if ask == "smallest" else "+"
            steps = f"Divide by ${common}$: ${_side(small_a, small_b, sign)} = {small_c}$. "
        if step > 1:
            steps += (
                f"Modulo ${step}$ this says ${_term(small_a, 'x')} \\equiv {small_c}$, "
                f"so $x \\equiv {first} \\pmod{{{step}}}$. "
            )
        if ask == "smallest":
            first = first or step
            second = (a * first - c) // b
            steps += f"The smallest positive one is $x = {first}$, with $y = {second}$."
            answer = gold.ordered((first, second), ("x", "y"))
        else:
            least = 1 if ask == "positive" else 0
            if first < least:
                first += step
            last = (c - b * least) // a
            count = (last - first) // step + 1
            bound = f"$y \\ge {least}$ means $x \\le {last}$"
            steps += (
                f"{bound}, so $x$ goes from ${first}$ in steps of ${step}$ to "
                f"${first + step * (count - 1)}$."
                if count > 1
                else f"{bound}, so only $x = {first}$ is left."
            )
            answer = gold.integer(count)
        return Drawn(ask=ask, values={"a": a, "b": b, "c": c}, gold=answer, steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        a, b, c = values["a"], values["b"], values["c"]
        if ask == "smallest":
            for x in range(1, b + 1):
                if (a * x - c) % b == 0:
                    return gold.ordered((x, (a * x - c) // b), ("x", "y"))
            return None
        least = 1 if ask == "positive" else 0
        lefts = range(c - a * least, b * least - 1, -a)
        return gold.integer(sum(left % b == 0 for left in lefts))


def _term(coefficient: int, letter: str) -> str:
    return letter if coefficient == 1 else f"{coefficient}{letter}"


def _side(a: int, b: int, sign: str) -> str:
    return f"{_term(a, 'x')} {sign} {_term(b, 'y')}"
