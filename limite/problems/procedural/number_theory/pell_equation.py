"""Pell's equation."""

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
class PellEquation(Family):
    """The smallest solutions of Pell's equation in positive integers."""

    name = "pell-equation"
    tag = "number-theory/diophantine"
    wordings = Wordings(
        first=(
            "Find the solution $(x, y)$ of $x^2 - <number>y^2 = 1$ in positive integers with the "
            "smallest $x$.",
            "Among the pairs $(x, y)$ of positive integers with $x^2 = <number>y^2 + 1$, which "
            "has the smallest $x$?",
        ),
        later=(
            "The pairs $(x, y)$ of positive integers with $x^2 - <number>y^2 = 1$ are listed in "
            "increasing order of $x$. Which pair is number <place>?",
            "List the solutions $(x, y)$ of $x^2 = <number>y^2 + 1$ in positive integers in "
            "increasing order of $x$. Give pair number <place>.",
        ),
        count=(
            "How many pairs $(x, y)$ of positive integers with $x \\le <bound>$ satisfy "
            "$x^2 - <number>y^2 = 1$?",
            "For how many positive integers $x \\le <bound>$ is there a positive integer $y$ with "
            "$x^2 = <number>y^2 + 1$?",
        ),
    )

    number: Ends = dial(12, 99, "largest coefficient of the second square", least=8, most=99)
    place: Ends = dial(1, 5, "largest place in the list of solutions", least=1, most=9)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        number = base.whole(rng, 2, base.steady(self.number, difficulty))
        while math.isqrt(number) ** 2 == number or _fundamental(number)[0] > 2500:
            number = number + 1 if number < 99 else 2
        place = base.whole(rng, 1, base.steady(self.place, difficulty))
        first = _fundamental(number)
        if place > 1 and rng.random() < 0.3:
            return self._count(rng, number, first, place)
        x, y = first
        listing = ", ".join(f"({above}, {below})" for above, below in _convergents(number))
        steps = (
            f"The smallest solution is a convergent $\\frac{{x}}{{y}}$ of $\\sqrt{{{number}}}$. "
            f"As pairs $(x, y)$ the convergents begin with ${listing}$, and the last of these is "
            f"the first that fits: ${x}^2 - {number} \\cdot {y}^2 = {x * x} - {number * y * y} "
            "= 1$."
        )
        for index in range(2, place + 1):
            x, y = first[0] * x + number * first[1] * y, first[0] * y + first[1] * x
            steps += (
                f" Multiplying by ${_root_text(first, number)}$ gives pair number {index}, "
                f"$({x}, {y})$."
            )
        values = {"number": number} | ({"place": place} if place > 1 else {})
        return Drawn(
            ask="later" if place > 1 else "first",
            values=values,
            gold=gold.ordered((x, y), ("x", "y")),
            steps=steps,
        )

    def _count(self, rng: random.Random, number: int, first: tuple[int, int], place: int) -> Drawn:
        found = [first]
        for _ in range(place):
            x, y = found[-1]
            found.append((first[0] * x + number * first[1] * y, first[0] * y + first[1] * x))
        low, high = found[place - 1][0], found[place][0]
        bound = low + int((high - low) * rng.random() * 0.9)
        bound -= bound % 10 ** (len(str(bound)) - 2) if bound > 100 else 0
        count = sum(x <= bound for x, _ in found)
        return Drawn(
            ask="count",
            values={"number": number, "bound": bound},
            gold=gold.integer(count),
            steps=f"The first solution is ${first[0]}^2 - {number} \\cdot {first[1]}^2 = 1$, and "
            f"the others come from the powers of ${_root_text(first, number)}$. Their values of "
            f"$x$ begin with ${', '.join(str(x) for x, _ in found)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number = values["number"]
        if math.isqrt(number) ** 2 == number:
            return None
        y = 1  # trying every y
        while math.isqrt(number * y * y + 1) ** 2 != number * y * y + 1:
            y += 1
            if y > 3000:
                return None
        first = math.isqrt(number * y * y + 1)
        # The values of x and of y obey the recurrence with trace twice the first x.
        xs, ys = [1, first], [0, y]
        place, bound = values.get("place", 1), values.get("bound", 0)
        while len(xs) <= place or xs[-1] <= bound:
            xs.append(2 * first * xs[-1] - xs[-2])
            ys.append(2 * first * ys[-1] - ys[-2])
        if ask == "count":
            return gold.integer(sum(1 for x in xs[1:] if x <= bound))
        return gold.ordered((xs[place], ys[place]), ("x", "y"))


def _root_text(first: tuple[int, int], number: int) -> str:
    factor = "" if first[1] == 1 else str(first[1])
    return f"{first[0]} + {factor}\\sqrt{{{number}}}"


def _fundamental(number: int) -> tuple[int, int]:
    """The smallest solution."""
    return _convergents(number)[-1]


def _convergents(number: int) -> list[tuple[int, int]]:
    """From the continued fraction of the root, up to the first that solves the equation."""
    root = math.isqrt(number)
    shift, divisor, part = 0, 1, root
    above, x = 1, root
    below, y = 0, 1
    found = [(x, y)]
    while x * x - number * y * y != 1:
        shift = divisor * part - shift
        divisor = (number - shift * shift) // divisor
        part = (root + shift) // divisor
        above, x = x, part * x + above
        below, y = y, part * y + below
        found.append((x, y))
    return found
