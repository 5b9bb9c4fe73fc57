"""Sums of rational functions over a common denominator."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import factor, fraction, listed
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial, latex
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class RationalFunctionSum(Family):
    """The numerator of a sum of rational functions over their common denominator."""

    name = "rational-function-sum"
    tag = "algebra/rational-functions"
    wordings = Wordings(
        "Write $<sum:text>$ as a single fraction with the denominator $<below:text>$. What is its "
        "numerator, as a polynomial in $x$?",
        "For which polynomial $N(x)$ is $<sum:text> = \\frac{N(x)}{<below:text>}$ wherever both "
        "sides are defined?",
    )

    fractions: Ends = dial(2, 3, "how many fractions", least=2, most=4)
    degree: Ends = dial(0, 1.5, "degree of the numerators", least=0, most=3)
    coefficient: Ends = dial(4, 9, "largest coefficient", least=2, most=50)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.fractions, difficulty))
        largest = base.steady(self.coefficient, difficulty)
        roots = base.distinct(rng, count, 1, 6)
        roots = [-root if rng.random() < 0.5 else root for root in roots]
        text = ""
        shown: list[str] = []
        total: Polynomial = ()
        for place, root in enumerate(roots):
            degree = base.whole_near(rng, base.steady(self.degree, difficulty))
            lower = [base.whole(rng, 0, 2 * largest) - int(largest) for _ in range(degree)]
            above = polynomials.polynomial([*lower, base.whole(rng, 1, largest)])
            if polynomials.value(above, root) == 0:  # so that no fraction can be reduced
                above = polynomials.plus(above, (1,))
            minus = place > 0 and rng.random() < 0.5
            sign = (" - " if minus else " + ") if place else ""
            text += sign + fraction(latex(above), latex((-root, 1)))
            others = [other for other in roots if other != root]
            part = polynomials.times(above, polynomials.with_roots(others, -1 if minus else 1))
            total = polynomials.plus(total, part)
            factors = "".join(map(factor, others))
            product = f"{'-' if minus else ''}{_tight(above)}{factors}"
            plain = product == f"({latex(part)})"
            shown.append(f"${latex(part)}$" if plain else f"${product} = {latex(part)}$")
        below = "".join(map(factor, roots))
        return Drawn(
            values={"sum": text, "below": below},
            gold=gold.polynomial(total),
            steps=f"Over the denominator ${below}$ the numerators become {listed(shown)}. Their "
            "sum is the numerator.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From values at enough points, by interpolation.
        pieces = []
        text = values["sum"].replace(" - \\frac", "|-\\frac").replace(" + \\frac", "|\\frac")
        for each in text.split("|"):
            above, _, below = each.partition("\\frac{")[2][:-1].partition("}{")
            sign = -1 if each.startswith("-") else 1
            pieces.append((sign, polynomials.read(above), polynomials.read(below)))
        factors = [polynomials.read(each) for each in values["below"][1:-1].split(")(")]
        degree = len(factors) + max(len(above) for _, above, _ in pieces)
        points = []
        for at in range(10, 11 + degree):
            over, under = 0, 1  # the sum at this point, as a fraction of whole numbers
            for sign, above, below in pieces:
                top, bottom = int(polynomials.value(above, at)), int(polynomials.value(below, at))
                over, under = over * bottom + sign * top * under, under * bottom
            for each in factors:
                over *= int(polynomials.value(each, at))
            value = polynomials.quotient(over, under)
            points.append((at, value))
        return gold.polynomial(polynomials.through(points))


def _tight(terms: Polynomial) -> str:
    text = latex(terms)
    if text == "1":
        return ""
    return f"({text})" if " " in text else f"{text}"
