"""Extreme values of a quadratic expression in two numbers that a linear equation ties."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import linear, read_linear
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class ConstrainedExtremum(Family):
    """The least sum of squares, or the greatest product, under a linear condition."""

    name = "constrained-extremum"
    tag = "algebra/extreme-values"
    wordings = Wordings(
        squares=(
            "Real numbers $x$ and $y$ satisfy $<line:text> = <total>$. What is the least possible "
            "value of $<squares:text>$?",
            "Find the minimum of $<squares:text>$ over all real $x$ and $y$ with $<line:text> = "
            "<total>$.",
        ),
        product=(
            "Real numbers $x$ and $y$ satisfy $<line:text> = <total>$. What is the greatest "
            "possible value of $xy$?",
            "Find the maximum of $xy$ over all real $x$ and $y$ with $<line:text> = <total>$.",
        ),
        fence=(
            "A rectangular field lies along a straight wall. Its other three sides are fenced with "
            "<total> metres of fence in all, none of it along the wall. What is the greatest "
            "possible area of the field, in square metres?",
            "With <total> metres of fence, three sides of a rectangular garden are closed off; the "
            "fourth side is a wall and needs no fence. How many square metres can the garden have "
            "at most?",
        ),
    )

    coefficient: Ends = dial(1, 6, "largest coefficient in the condition", most=30)
    total: Ends = dial(20, 60, "largest right side", least=6, most=500)
    weighted: Ends = dial(0, 0.7, "share of squares with factors", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        largest = base.steady(self.coefficient, difficulty)
        total = base.whole(rng, 4, base.steady(self.total, difficulty))
        a, b = base.whole(rng, 1, largest), base.whole(rng, 1, largest)
        line = linear([a, b], "xy")
        chance = rng.random()
        if chance < 0.2:
            value = Fraction(total * total, 8)
            side = Fraction(total, 4)
            return Drawn(
                ask="fence",
                values={"total": total},
                gold=gold.rational(value),
                steps=f"With two sides of $x$ metres the third is ${total} - 2x$ metres, and the "
                f"area is $x({total} - 2x) = {ratio_text(value)} - 2(x - {ratio_text(side)})^2$. "
                f"It is greatest for $x = {ratio_text(side)}$.",
            )
        if chance < 0.5:
            value = Fraction(total * total, 4 * a * b)
            u = "x" if a == 1 else f"{a}x"
            v = "y" if b == 1 else f"{b}y"
            product = "xy" if a * b == 1 else f"{a * b}xy"
            return Drawn(
                ask="product",
                values={"line": line, "total": total},
                gold=gold.rational(value),
                steps=f"From $({line})^2 - ({u} - {v})^2 = {4 * a * b}xy$ follows ${4 * a * b}xy = "
                f"{total * total} - ({u} - {v})^2$, which is greatest where ${u} = {v}$. Then "
                f"${product} = {ratio_text(Fraction(total * total, 4))}$.",
            )
        p = q = 1
        if rng.random() < base.steady(self.weighted, difficulty):
            p, q = base.whole(rng, 1, 4), base.whole(rng, 1, 4)
        # Cauchy: total^2 <= (p x^2 + q y^2)(a^2/p + b^2/q)
        weight = Fraction(a * a, p) + Fraction(b * b, q)
        value = total * total / weight
        squares = f"{'' if p == 1 else p}x^2 + {'' if q == 1 else q}y^2"
        bound = f"\\left({squares}\\right) \\cdot {ratio_text(weight)}"
        parts = [
            f"{top}^2" if below == 1 else f"\\frac{{{top}^2}}{{{below}}}"
            for top, below in ((a, p), (b, q))
        ]
        x, y = Fraction(a, p) * total / weight, Fraction(b, q) * total / weight
        return Drawn(
            ask="squares",
            values={"line": line, "total": total, "squares": squares},
            gold=gold.rational(value),
            steps=f"By the inequality of Cauchy and Schwarz, $({line})^2 \\le {bound}$, since "
            f"${parts[0]} + {parts[1]} = {ratio_text(weight)}$. So ${total * total} \\le {bound}$, "
            f"with equality for $x = {ratio_text(x)}$ and $y = {ratio_text(y)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # One unknown is replaced; the quadratic that is left has its extreme value at the vertex.
        total = values["total"]
        if ask == "fence":
            return _extreme((0, total, -2))
        (a, b), _ = read_linear(values["line"], "xy")
        y = (Fraction(total) / b, -Fraction(a) / b)
        if ask == "product":
            return _extreme(polynomials.times((0, 1), y))
        first, second = values["squares"].split(" + ")
        p, q = int(first[:-3] or 1), int(second[:-3] or 1)
        return _extreme(polynomials.plus((0, 0, p), polynomials.times((q,), y, y)))


def _extreme(terms: Polynomial) -> Gold:
    """Halfway between two places with the same value: at 0 and where the rest vanishes."""
    middle = polynomials.quotient(-terms[1], 2 * terms[2])
    return gold.rational(polynomials.value(terms, middle))
