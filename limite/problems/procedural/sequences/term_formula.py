"""Formulas for the terms of a sequence."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class TermFormula(Family):
    """A formula in n for the terms of a sequence, from its first terms or from its sums."""

    name = "term-formula"
    tag = "sequences/differences"
    wordings = Wordings(
        polynomial=(
            "The sequence $<terms:integers>, \\dots$ is given by $a_n = f(n)$ for $n \\ge 1$, "
            "where $f$ is a polynomial of degree at most $<degree>$. Find $f(n)$.",
            "A polynomial $f$ of degree at most $<degree>$ has the values $<terms:integers>$ at "
            "$1, 2, 3, \\dots$, in this order. Express $f(n)$ in terms of $n$.",
        ),
        arithmetic=(
            "Find a formula for the term number $n$ of the arithmetic sequence $<terms:integers>, "
            "\\dots$, where the first term has $n = 1$.",
            "Express the $n$-th term of the arithmetic sequence $<terms:integers>, \\dots$ in "
            "terms of $n$; the first term belongs to $n = 1$.",
        ),
        sums=(
            "The sum of the first $n$ terms of a sequence is $<terms:text>$ for every $n \\ge 1$. "
            "Find a formula for its term number $n$.",
            "For every $n \\ge 1$ the first $n$ terms of a sequence add up to $<terms:text>$. "
            "Express its $n$-th term in terms of $n$.",
        ),
    )

    degree: Ends = dial(1, 3, "largest degree", least=1, most=4)
    size: Ends = dial(5, 12, "largest coefficient", least=3, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        degree = base.whole(rng, 1, base.steady(self.degree, difficulty))
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        terms = [base.whole(rng, -size, size) for _ in range(degree)]
        lead = base.whole(rng, 2 if degree == 1 else 1, size)
        terms.append(-lead if rng.random() < 0.3 else lead)
        formula = polynomials.polynomial(terms)
        if rng.random() < 0.3:
            sums = (0, *(each for each in formula[1:])) if formula[0] else formula
            if degree == 1:
                sums = (0, terms[0] or 3, abs(terms[1]))
            before = polynomials.composed(sums, (-1, 1))
            answer = polynomials.minus(sums, before)
            return Drawn(
                ask="sums",
                values={"terms": polynomials.latex(sums, "n")},
                gold=gold.polynomial(answer, "n"),
                steps=f"The term number $n$ is the sum of the first $n$ terms less that of the "
                f"first $n - 1$. With $n - 1$ in place of $n$ the sum is "
                f"${polynomials.latex(before, 'n')}$; it is taken away from "
                f"${polynomials.latex(sums, 'n')}$. For $n = 1$ the difference is right as well, "
                "since no terms have the sum 0.",
            )
        count = 4 if degree == 1 else degree + 2
        numbers = [int(polynomials.value(formula, n)) for n in range(1, count + 1)]
        if degree == 1 and rng.random() < 0.6:
            first = numbers[0]
            step = numbers[1] - numbers[0]
            return Drawn(
                ask="arithmetic",
                values={"terms": numbers},
                gold=gold.polynomial(formula, "n"),
                steps=f"The terms change by ${step}$ from one to the next, so the term number $n$ "
                f"is ${first} {base.signed(step)[0]} {abs(step)}(n - 1)$.",
            )
        rows, heads, row = [], [numbers[0]], numbers
        for _ in range(degree):
            row = [right - left for left, right in itertools.pairwise(row)]
            rows.append(f"${', '.join(map(str, row))}$")
            heads.append(row[0])
        sum_text = _newton(heads)
        return Drawn(
            ask="polynomial",
            values={"terms": numbers, "degree": degree},
            gold=gold.polynomial(formula, "n"),
            steps=f"The rows of differences are {'; '.join(rows)}. From their first entries, "
            f"$f(n) = {sum_text}$, where $\\binom{{n-1}}{{2}} = \\frac{{(n-1)(n-2)}}{{2}}$ and so "
            "on. Multiply out."
            if degree > 1
            else f"The differences are {rows[0]}, so $f(n) = {sum_text}$. Multiply out.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "sums":
            sums = polynomials.read(values["terms"], "n")
            if sums and sums[0]:
                return None  # the first term would need another formula
            points = [
                (n, polynomials.value(sums, n) - polynomials.value(sums, n - 1))
                for n in range(1, len(sums) + 2)
            ]
            return gold.polynomial(polynomials.through(points), "n")
        points = [(n + 1, each) for n, each in enumerate(values["terms"])]
        found = polynomials.through(points)
        if polynomials.degree(found) > values.get("degree", 1):
            return None
        return gold.polynomial(found, "n")


def _newton(heads: list[int]) -> str:
    """The sum of the first differences times binomial coefficients."""
    text = str(heads[0])
    for order, head in enumerate(heads[1:], 1):
        if head:
            size = "" if abs(head) == 1 else str(abs(head))
            factor = "(n-1)" if order == 1 else f"\\binom{{n-1}}{{{order}}}"
            text += f" {'-' if head < 0 else '+'} {size}{factor}"
    return text
