"""Coefficients in powers of a sum of two terms."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra.writing import bracketed, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import latex
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class BinomialTerm(Family):
    """One coefficient in the expansion of a power of two terms, negative powers included."""

    name = "binomial-term"
    tag = "algebra/binomial-theorem"
    wordings = Wordings(
        coefficient=(
            "Find the coefficient of $x^{<power>}$ in the expansion of "
            "$\\left(<base:text>\\right)^{<exponent>}$.",
            "When $\\left(<base:text>\\right)^{<exponent>}$ is expanded and like terms are "
            "collected, what is the coefficient of $x^{<power>}$?",
        ),
        constant=(
            "Find the constant term in the expansion of $\\left(<base:text>\\right)^{<exponent>}$.",
            "When $\\left(<base:text>\\right)^{<exponent>}$ is expanded, which term does not "
            "contain $x$?",
        ),
    )

    exponent: Ends = dial(3, 14, "largest exponent", least=3, most=40)
    coefficient: Ends = dial(1, 7, "largest coefficient", most=20)
    fractional: Ends = dial(0, 0.7, "share with powers of x below", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        exponent = base.whole(rng, 3, base.steady(self.exponent, difficulty))
        largest = base.steady(self.coefficient, difficulty)
        first, second = base.whole(rng, 1, largest), nonzero(rng, largest + 1)
        up, down = 1, 0
        if rng.random() < base.steady(self.fractional, difficulty):
            up, down = base.whole(rng, 1, 3), base.whole(rng, 1, 2)
        chosen = base.whole(rng, 1, exponent - 1)
        if down and up * exponent % (up + down) == 0 and rng.random() < 0.5:
            chosen = up * exponent // (up + down)
        power = up * (exponent - chosen) - down * chosen
        if power == 1:  # so that no power of one is written
            chosen = chosen - 1 if chosen > 1 else chosen + 1
            power = up * (exponent - chosen) - down * chosen
        times = math.comb(exponent, chosen)
        value = times * first ** (exponent - chosen) * second**chosen
        condition = (
            f"Its power of $x$ is ${up if up > 1 else ''}({exponent} - k) - "
            f"{down if down > 1 else ''}k$, which is ${power}$ for $k = {chosen}$."
            if down
            else f"The power $x^{{{power}}}$ needs $k = {chosen}$."
        )
        values = {"base": _base(first, second, up, down), "exponent": exponent}
        return Drawn(
            ask="coefficient" if power else "constant",
            values={**values, "power": power} if power else values,
            gold=gold.integer(value),
            steps="The terms come from choosing the second summand $k$ times in "
            f"${exponent}$ factors. {condition} The coefficient is "
            f"$\\binom{{{exponent}}}{{{chosen}}}"
            f" \\cdot {_power(first, exponent - chosen)} \\cdot {_power(second, chosen)} = {times} "
            f"\\cdot {first ** (exponent - chosen)} \\cdot {bracketed(second**chosen)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By multiplying the sum by itself.
        pieces = _terms(values["base"])
        expanded = {0: 1}
        for _ in range(values["exponent"]):
            product: dict[int, int] = {}
            for power, size in expanded.items():
                for up, times in pieces:
                    product[power + up] = product.get(power + up, 0) + size * times
            expanded = product
        return gold.integer(expanded.get(values.get("power", 0), 0))


def _base(first: int, second: int, up: int, down: int) -> str:
    left = latex((*(0,) * up, first))
    sign = "-" if second < 0 else "+"
    if not down:
        return f"{left} {sign} {abs(second)}"
    below = "x" if down == 1 else f"x^{down}"
    return f"{left} {sign} \\frac{{{abs(second)}}}{{{below}}}"


def _terms(text: str) -> list[tuple[int, int]]:
    """The (power, coefficient) of both summands."""
    left, sign, right = text.split(" ")
    found = [_monomial(left)]
    if right.startswith("\\frac{"):
        above, _, below = right[6:-1].partition("}{")
        power, size = -_monomial(below)[0], int(above)
    else:
        power, size = 0, int(right)
    return [*found, (power, -size if sign == "-" else size)]


def _monomial(text: str) -> tuple[int, int]:
    size, _, power = text.partition("x")
    return int(power[1:] or 1), int(size or 1)


def _power(number: int, exponent: int) -> str:
    return bracketed(number) if exponent == 1 else f"{bracketed(number)}^{{{exponent}}}"
