"""Division of polynomials with remainder."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial, latex
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PolynomialDivision(Family):
    """The quotient or the remainder of one polynomial divided by another."""

    name = "polynomial-division"
    tag = "algebra/polynomials"
    wordings = Wordings(
        quotient=(
            "Divide $<above:polynomial>$ by $<below:polynomial>$ with remainder. What is the "
            "quotient?",
            "Find the polynomial quotient $q(x)$ in $<above:polynomial> = "
            "(<below:polynomial>) \\cdot q(x) + r(x)$, where the degree of $r$ is less than that "
            "of $<below:polynomial>$.",
        ),
        remainder=(
            "Divide $<above:polynomial>$ by $<below:polynomial>$ with remainder. What is the "
            "remainder?",
            "Find the remainder $r(x)$ in $<above:polynomial> = (<below:polynomial>) \\cdot q(x) "
            "+ r(x)$, where the degree of $r$ is less than that of $<below:polynomial>$.",
        ),
    )

    divisor: Ends = dial(1, 3, "degree of the divisor", most=6)
    quotient: Ends = dial(1, 4, "degree of the quotient", most=8)
    coefficient: Ends = dial(4, 9, "largest coefficient of both", least=2, most=50)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        largest = base.steady(self.coefficient, difficulty)
        below_degree = base.whole_near(rng, base.steady(self.divisor, difficulty))
        degree = base.whole_near(rng, base.steady(self.quotient, difficulty))
        below = _monic(rng, below_degree, largest)
        lead = nonzero(rng, 1 + largest / 3)
        quotient = polynomials.polynomial([*(_any(rng, largest) for _ in range(degree)), lead])
        remainder = polynomials.polynomial(
            [nonzero(rng, largest), *(_any(rng, largest) for _ in range(below_degree - 1))]
        )
        above = polynomials.plus(polynomials.times(quotient, below), remainder)
        asked = "remainder" if rng.random() < 0.4 else "quotient"
        return Drawn(
            ask=asked,
            values={"above": above, "below": below},
            gold=gold.polynomial(quotient if asked == "quotient" else remainder),
            steps=_steps(above, below, quotient),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        quotient, remainder = polynomials.divided(values["above"], values["below"])
        return gold.polynomial(quotient if ask == "quotient" else remainder)


def _any(rng: random.Random, largest: float) -> int:
    return base.whole(rng, 0, 2 * largest) - int(largest)


def _monic(rng: random.Random, degree: int, largest: float) -> Polynomial:
    """A polynomial that begins with 1 and ends with no zero."""
    middle = [_any(rng, largest / 2) for _ in range(degree - 1)]
    return polynomials.polynomial([nonzero(rng, largest), *middle, 1])


def _steps(above: Polynomial, below: Polynomial, quotient: Polynomial) -> str:
    """Takes away one term of the quotient after the other."""
    left, steps = above, []
    for power in range(len(quotient) - 1, -1, -1):
        if quotient[power]:
            term = polynomials.polynomial([0] * power + [quotient[power]])
            left = polynomials.minus(left, polynomials.times(term, below))
            shown = latex(term)
            taken = f"({shown})" if shown.startswith("-") else shown
            steps.append(f"${taken} \\cdot ({latex(below)})$ leaves ${latex(left)}$")
    return (
        f"From ${latex(above)}$, take away what cancels the highest power, until the degree is "
        f"less than {len(below) - 1}: taking away {', then '.join(steps)}. The quotient is "
        f"${latex(quotient)}$ and the remainder is ${latex(left)}$."
    )
