"""Polynomials through given points."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import factor, listed, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class Interpolation(Family):
    """The polynomial of lowest degree through given points, or its value at another place."""

    name = "interpolation"
    tag = "algebra/polynomials"
    wordings = Wordings(
        polynomial=(
            "Find the polynomial $P(x)$ of degree at most <degree> with <values:text>.",
            "Exactly one polynomial $P(x)$ of degree at most <degree> satisfies <values:text>. "
            "Which one?",
        ),
        value=(
            "The polynomial $P(x)$ has degree at most <degree>, and <values:text>. Find $P(<at>)$.",
            "A polynomial $P$ of degree at most <degree> satisfies <values:text>. What is "
            "$P(<at>)$?",
        ),
    )

    degree: Ends = dial(1, 4, "degree of the polynomial", most=8)
    coefficient: Ends = dial(4, 7, "largest coefficient", least=2, most=50)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        degree = base.whole_near(rng, base.steady(self.degree, difficulty))
        largest = base.steady(self.coefficient, difficulty)
        lower = [base.whole(rng, 0, 2 * largest) - int(largest) for _ in range(degree)]
        terms = polynomials.polynomial([*lower, nonzero(rng, largest / 2 + 1)])
        first, step = base.whole(rng, 0, 3) - 2, base.whole(rng, 1, 2)
        places = [first + step * place for place in range(degree + 1)]
        table = [int(polynomials.value(terms, place)) for place in places]
        text = listed([f"$P({x}) = {y}$" for x, y in zip(places, table, strict=True)])
        rows, shown = [table], []
        while len(rows[-1]) > 1:
            row = rows[-1]
            rows.append([after - before for before, after in itertools.pairwise(row)])
            shown.append(", ".join(map(str, rows[-1])))
        steps = (
            f"The values {', '.join(map(str, table))} have the differences "
            f"{'; then '.join(shown)}. "
        )
        if rng.random() < 0.5:
            at = places[-1] + step
            ends = [row[-1] for row in reversed(rows)]
            sums = [ends[0]]
            for each in ends[1:]:
                sums.append(sums[-1] + each)
            return Drawn(
                ask="value",
                values={"degree": degree, "values": text, "at": at},
                gold=gold.integer(sums[-1]),
                steps=f"{steps}With degree at most {degree} the last difference stays the same, so "
                f"the next entries of the rows, from the last row up, are "
                f"{', '.join(map(str, sums))}.",
            )
        heads = [row[0] for row in rows]
        return Drawn(
            ask="polynomial",
            values={"degree": degree, "values": text},
            gold=gold.polynomial(terms),
            steps=f"{steps}By Newton's formula with the first entries "
            f"{', '.join(map(str, heads))}, $P(x) = {_newton(heads, first, step)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By a linear system for the coefficients, or Lagrange's formula for a value.
        points = [(int(x), int(y)) for x, y in _POINT.findall(values["values"])]
        if len(points) != values["degree"] + 1:
            return None
        if ask == "polynomial":
            rows: list[list[Number]] = [
                [x**power for power in range(len(points))] for x, _ in points
            ]
            found = exact.solved(rows, [y for _, y in points])
            return None if found is None else gold.polynomial(polynomials.polynomial(found))
        at, total = values["at"], Fraction(0)
        for x, y in points:
            share = Fraction(y)
            for other, _ in points:
                if other != x:
                    share = share * (at - other) / (x - other)
            total += share
        return gold.integer(int(total)) if total.denominator == 1 else None


_POINT = re.compile(r"P\((-?[0-9]+)\) = (-?[0-9]+)")


def _newton(heads: list[int], first: int, step: int) -> str:
    """``3 + 2(x - 1) - \\frac{1}{2}(x - 1)(x - 2)``, with equal steps."""
    text, below = str(heads[0]) if heads[0] else "", 1
    for power in range(1, len(heads)):
        below *= power * step
        size = Fraction(heads[power], below)
        if not size:
            continue
        factors = "".join(factor(first + step * place) for place in range(power))
        sign = (" - " if text else "-") if size < 0 else " + " if text else ""
        text += sign + ("" if abs(size) == 1 else ratio_text(abs(size))) + factors
    return text
