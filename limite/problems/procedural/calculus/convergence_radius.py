"""Where power series converge."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class ConvergenceRadius(Family):
    """The radius of convergence of a power series."""

    name = "convergence-radius"
    tag = "calculus/series"
    wordings = Wordings(
        "Find the radius of convergence of $\\sum_{n=1}^{\\infty} "
        "\\frac{<above:text>}{<below:text>} <power:text>$.",
        "The power series $\\sum_{n=1}^{\\infty} \\frac{<above:text>}{<below:text>} <power:text>$ "
        "has a finite radius of convergence. What is it?",
    )

    parts: Ends = dial(1, 3, "how many factors in the coefficients", least=1, most=4)
    size: Ends = dial(9, 15, "largest base of a power", least=4, most=50)
    factorials: Ends = dial(0, 0.5, "share with factorials", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        count = base.whole_near(rng, base.steady(self.parts, difficulty))
        a, b = base.whole(rng, 2, size), base.whole(rng, 2, size)
        b += b == a
        above, below = [f"{a}^n"], [f"{b}^n"]
        growth = Fraction(a, b)
        said = [f"\\frac{{{a}}}{{{b}}}"]
        if rng.random() < 0.5:
            below.insert(0, "n") if count == 1 else below.insert(0, f"n^{base.whole(rng, 2, 5)}")
        if count > 1:
            above.insert(0, f"n^{base.whole(rng, 2, 5)}" if rng.random() < 0.5 else "n")
        if count > 2:
            c = base.whole(rng, 2, size)
            while c in (a, b):
                c += 1
            above.append(f"{c}^n")
            growth *= c
            said.append(str(c))
        if rng.random() < base.steady(self.factorials, difficulty):
            above, below = ([*above, "(n!)^2"], [*below, "(2n)!"])
            growth /= 4
            said.append("\\frac{1}{4}")
            if rng.random() < 0.5:
                above[-1], below[-1] = below[-1], above[-1]
                growth *= 16
                said[-1] = "4"
        shift, step = base.whole(rng, 0, 5), 1
        if difficulty > 0 and rng.random() < 0.3 * difficulty and _is_square(growth):
            step = 2
        inner = f"(x - {shift})" if shift else "x"
        power = f"{inner}^{{2n}}" if step == 2 else f"{inner}^n"
        found = 1 / growth
        product = " \\cdot ".join(said)
        steps = f"The quotient of a coefficient and the one before tends to ${product}$"
        steps += f", which is ${ratio_text(growth)}$" if len(said) > 1 else ""
        steps += "; powers of $n$ do not count in the limit. "
        if step == 2:
            root = Fraction(math.isqrt(found.numerator), math.isqrt(found.denominator))
            steps += (
                f"So the series converges for ${inner}^2 < {ratio_text(found)}$, and the radius is "
                f"the root of that."
            )
            found = root
        else:
            steps += f"The radius around the centre $x = {shift}$ is the reciprocal of this."
        return Drawn(
            values={
                "above": " \\cdot ".join(above),
                "below": " \\cdot ".join(below),
                "power": power,
            },
            gold=gold.rational(found),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the quotient of neighbouring coefficients so far out that the limit is the one
        # fraction with a small denominator near to it.
        n = 10**30
        quotient = _quotient(values["above"], n)
        below = _quotient(values["below"], n)
        if quotient is None or below is None:
            return None
        near = below / quotient
        limit = near.limit_denominator(10**9)
        if abs(near - limit) > Fraction(1, 10**20):
            return None
        if "2n" in values["power"]:
            if not _is_square(limit):
                return None
            limit = Fraction(math.isqrt(limit.numerator), math.isqrt(limit.denominator))
        return gold.rational(limit)


def _is_square(number: Fraction) -> bool:
    return all(math.isqrt(part) ** 2 == part for part in (number.numerator, number.denominator))


def _quotient(text: str, n: int) -> Fraction | None:
    """What the product gains from n to n + 1."""
    found = Fraction(1)
    for part in text.split(" \\cdot "):
        power = re.fullmatch(r"([0-9]+)\^n", part)
        degree = re.fullmatch(r"n(?:\^([0-9]))?", part)
        if part == "(n!)^2":
            found *= (n + 1) ** 2
        elif part == "(2n)!":
            found *= (2 * n + 1) * (2 * n + 2)
        elif power:
            found *= int(power[1])
        elif degree:
            found *= Fraction(n + 1, n) ** int(degree[1] or 1)
        else:
            return None
    return found
