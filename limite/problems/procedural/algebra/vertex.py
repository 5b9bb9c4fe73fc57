"""The vertex of a parabola: the extreme value of a quadratic function, and its place."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import later, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import latex
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class Vertex(Family):
    """The vertex, the least or the greatest value of a quadratic function."""

    name = "vertex"
    tag = "algebra/quadratics"
    wordings = Wordings(
        vertex=(
            "Find the vertex $(h, k)$ of the parabola $y = <terms:polynomial>$.",
            "Complete the square: $<terms:polynomial> = a(x - h)^2 + k$ for all $x$. Give the "
            "pair $(h, k)$.",
        ),
        least=(
            "What is the least value of $<terms:polynomial>$ for real $x$?",
            "Find the minimum of $f(x) = <terms:polynomial>$ over the real numbers.",
        ),
        greatest=(
            "What is the greatest value of $<terms:polynomial>$ for real $x$?",
            "Find the maximum of $f(x) = <terms:polynomial>$ over the real numbers.",
        ),
    )

    size: Ends = dial(5, 12, "largest part of the vertex", least=2, most=100)
    lead: Ends = dial(1, 6, "largest leading coefficient", most=20)
    broken: Ends = dial(0, 0.8, "share of vertices with fractions", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        lead = base.whole(rng, 1, base.steady(self.lead, difficulty))
        if rng.random() < 0.4:
            lead = -lead
        below = 1
        if rng.random() < base.steady(self.broken, difficulty):
            below = 2 * abs(lead)
        # a(x - h)^2 + k with h = top/below: the coefficients are whole when below divides 2a.
        h = Fraction(nonzero(rng, size * below), below)
        constant = base.whole(rng, 0, 2 * size) - int(size)
        k = Fraction(constant) if below == 1 else constant - lead * h * h
        terms = polynomials.polynomial((lead * h * h + k, -2 * lead * h, lead))
        shift = later(-h)
        inner = latex((0, polynomials.quotient(terms[1], lead), 1))
        outer = "" if lead == 1 else "-" if lead == -1 else str(lead)
        steps = (
            f"Completing the square, ${inner} = (x{shift})^2 - {ratio_text(h * h)}$, so "
            f"${latex(terms)} = {outer}(x{shift})^2{later(k)}$."
        )
        chance = rng.random()
        if chance < 0.5:
            return Drawn(
                ask="vertex",
                values={"terms": terms},
                gold=gold.ordered((h, k), ["h", "k"]),
                steps=steps,
            )
        return Drawn(
            ask="least" if lead > 0 else "greatest",
            values={"terms": terms},
            gold=gold.rational(k),
            steps=f"{steps} The square is never negative and is zero at $x = {ratio_text(h)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The derivative is zero there.
        terms = values["terms"]
        if (
            len(terms) != 3
            or (ask == "least" and terms[2] < 0)
            or (ask == "greatest" and terms[2] > 0)
        ):
            return None
        slope, second = polynomials.derivative(terms) if terms[1] else (0, 2 * terms[2])
        h = polynomials.quotient(-slope, second)
        k = polynomials.value(terms, h)
        return gold.ordered((h, k), ["h", "k"]) if ask == "vertex" else gold.rational(k)
