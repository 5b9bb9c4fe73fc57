"""Products of polynomials, multiplied out."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial, latex
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PolynomialProduct(Family):
    """The coefficients of a product of polynomials, or one of them."""

    name = "polynomial-product"
    tag = "algebra/polynomials"
    wordings = Wordings(
        all=(
            "Expand $<product:text>$ and give the tuple of its coefficients, from the highest "
            "power of $x$ down to the constant term, zeros included.",
            "Multiply out $<product:text>$. List all coefficients in order as a tuple, beginning "
            "with the highest power of $x$ and ending with the constant term; write a zero for "
            "every missing power.",
        ),
        one=(
            "Find the coefficient of $x^{<power>}$ in the expansion of $<product:text>$.",
            "When $<product:text>$ is multiplied out, what is the coefficient of $x^{<power>}$?",
        ),
    )

    factors: Ends = dial(2, 4, "how many factors", least=2, most=6)
    degree: Ends = dial(1, 2, "degree of a factor", most=4)
    coefficient: Ends = dial(4, 9, "largest coefficient", least=2, most=50)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.factors, difficulty))
        largest = base.steady(self.coefficient, difficulty)
        factors: list[Polynomial] = []
        while len(factors) < count:
            degree = base.whole_near(rng, base.steady(self.degree, difficulty))
            middle = [base.whole(rng, 0, largest) - int(largest) // 2 for _ in range(degree - 1)]
            lead = base.whole(rng, 1, 1 + largest / 3)
            factors.append(polynomials.polynomial([nonzero(rng, largest), *middle, lead]))
            if len(factors) < count and rng.random() < 0.3:
                factors.append(factors[-1])
        product, steps = factors[0], []
        for factor in factors[1:]:
            before, product = product, polynomials.times(product, factor)
            steps.append(f"$({latex(before)})({latex(factor)}) = {latex(product)}$")
        text = _text(factors)
        powers = [power for power in range(2, len(product) - 1) if product[power]]
        shown = f"Multiply one factor at a time: {', then '.join(steps)}."
        if powers and rng.random() < 0.5:
            power = base.chosen(rng, powers)
            return Drawn(
                ask="one",
                values={"product": text, "power": power},
                gold=gold.integer(int(product[power])),
                steps=shown,
            )
        return Drawn(
            ask="all",
            values={"product": text},
            gold=gold.ordered(product[::-1]),
            steps=shown,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From the values of the factors at enough points, by interpolation.
        factors = [
            (polynomials.read(match[1]), int(match[2] or 1))
            for match in _FACTOR.finditer(values["product"])
        ]
        degree = sum((len(terms) - 1) * power for terms, power in factors)
        points = []
        for at in range(-(degree // 2), degree - degree // 2 + 1):
            value = 1
            for terms, power in factors:
                value *= int(polynomials.value(terms, at)) ** power
            points.append((at, value))
        product = polynomials.through(points)
        if ask == "all":
            return gold.ordered(product[::-1])
        power = values["power"]
        return gold.integer(int(product[power]) if power < len(product) else 0)


_FACTOR = re.compile(r"\(([^()]*)\)(?:\^([0-9]))?")


def _text(factors: Sequence[Polynomial]) -> str:
    """``(x - 2)^2(x^2 + 1)``: neighbours that are equal as a power."""
    text, place = "", 0
    while place < len(factors):
        times = 1
        while factors[place : place + times + 1] == [factors[place]] * (times + 1):
            times += 1
        text += f"({latex(factors[place])})" + (f"^{times}" if times > 1 else "")
        place += times
    return text
