"""Quadratic equations with rational or irrational solutions."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials, surds
from limite.problems.procedural.algebra.writing import nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial, latex
from limite.problems.procedural.wording import Wordings, ratio_text

_ROOTS = (2, 3, 5, 6, 7, 10, 11, 13)


@attrs.frozen(kw_only=True)
class QuadraticEquation(Family):
    """All real solutions of a quadratic equation, as a set; square roots may remain."""

    name = "quadratic-equation"
    tag = "algebra/quadratics"
    wordings = Wordings(
        "Find the set of all real solutions of $<left:polynomial> = <right:polynomial>$. "
        "Give exact values.",
        "Solve $<left:polynomial> = <right:polynomial>$ over the real numbers, exactly. "
        "Answer with the set of solutions.",
        "For which real $x$ is $<left:polynomial> = <right:polynomial>$? "
        "List all of them as a set of exact values.",
    )

    root: Ends = dial(6, 15, "largest part of a solution", least=3, most=200)
    lead: Ends = dial(1, 5, "largest leading coefficient of a factor", most=50)
    irrational: Ends = dial(0, 0.6, "share with square roots", least=0, most=1)
    moved: Ends = dial(0, 0.8, "share with terms on both sides", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.root, difficulty)
        lead = base.steady(self.lead, difficulty)
        irrational = rng.random() < base.steady(self.irrational, difficulty)
        moved = rng.random() < base.steady(self.moved, difficulty)
        terms, answer, steps = (_irrational if irrational else _rational)(rng, size, lead)
        right: Polynomial = ()
        text = ""
        if moved:
            right = (nonzero(rng, size), nonzero(rng, size))
            text = f"Bringing all terms to one side gives ${latex(terms)} = 0$. "
        return Drawn(
            values={"left": polynomials.plus(terms, right), "right": right},
            gold=answer,
            steps=text + steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the quadratic formula.
        terms = polynomials.minus(values["left"], values["right"])
        if len(terms) != 3 or not all(isinstance(each, int) for each in terms):
            return None
        c, b, a = map(int, terms)
        inside = b * b - 4 * a * c
        if inside <= 0:
            return gold.finite_set([Fraction(-b, 2 * a)] if inside == 0 else [])
        outside, rest = surds.split(inside)
        if rest == 1:
            return gold.finite_set([Fraction(-b + s * outside, 2 * a) for s in (1, -1)])
        return surds.pair(Fraction(-b, 2 * a), Fraction(outside, abs(2 * a)), rest)


def _rational(rng: random.Random, size: float, lead: float) -> tuple[Polynomial, Gold, str]:
    first, second = _factor(rng, size, lead), _factor(rng, size, lead)
    roots = [Fraction(-b, a) for b, a in (first, second)]
    if roots[0] == roots[1]:
        second = (second[0] + 1 or 1, 1)
        roots[1] = Fraction(-second[0])
        if roots[0] == roots[1]:
            second = (second[0] + 1 or 1, 1)
            roots[1] = Fraction(-second[0])
    shown = [ratio_text(root) for root in roots]
    return (
        polynomials.times(first, second),
        gold.finite_set(roots),
        f"The polynomial is the product $({latex(first)})({latex(second)})$, which is zero where "
        f"one of its factors is: ${latex(first)} = 0$ gives $x = {shown[0]}$, and "
        f"${latex(second)} = 0$ gives $x = {shown[1]}$.",
    )


def _factor(rng: random.Random, size: float, lead: float) -> tuple[int, int]:
    a, b = base.whole(rng, 1, lead), nonzero(rng, size)
    shared = math.gcd(a, b)
    return b // shared, a // shared


def _irrational(rng: random.Random, size: float, lead: float) -> tuple[Polynomial, Gold, str]:
    root = base.chosen(rng, _ROOTS)
    below, times = base.whole(rng, 1, 2), base.whole(rng, 1, 3)
    middle = Fraction(nonzero(rng, size), below)
    distance = Fraction(times, below)
    # below^2 ((x - middle)^2 - distance^2 root) has whole coefficients.
    square = polynomials.polynomial((middle * middle - distance * distance * root, -2 * middle, 1))
    factor = base.whole(rng, 1, lead) * math.lcm(*(Fraction(each).denominator for each in square))
    shifted = latex((polynomials.plain_number(-middle), 1))
    inside = ratio_text(distance * distance * root)
    return (
        polynomials.scaled(square, factor),
        surds.pair(middle, distance, root),
        ("" if factor == 1 else f"Dividing by ${factor}$ gives ${latex(square)} = 0$. ")
        + f"Completing the square gives $({shifted})^2 = {inside}$, so "
        f"${shifted} = {surds.both_signs(0, distance, root)}$.",
    )
