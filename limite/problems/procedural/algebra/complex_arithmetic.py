"""Sums, products, quotients and powers of complex numbers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold, complex_latex
from limite.problems.procedural.polynomials import Number
from limite.problems.procedural.wording import Wordings

Parts = tuple[Number, Number]


@attrs.frozen(kw_only=True)
class ComplexArithmetic(Family):
    """A product, quotient or power of complex numbers, as a + bi."""

    name = "complex-arithmetic"
    tag = "algebra/complex-numbers"
    wordings = Wordings(
        product=(
            "Compute $(<z:text>)(<w:text>)$ and write it as $a + bi$ with real $a$ and $b$.",
            "What is the product of the complex numbers $<z:text>$ and $<w:text>$? Answer in the "
            "form $a + bi$.",
        ),
        quotient=(
            "Write $\\frac{<z:text>}{<w:text>}$ as $a + bi$ with exact real $a$ and $b$.",
            "Divide the complex number $<z:text>$ by $<w:text>$. Answer in the form $a + bi$ with "
            "exact real numbers.",
        ),
        power=(
            "Compute $(<z:text>)^{<exponent>}$ and write it as $a + bi$ with real $a$ and $b$.",
            "What is the power $(<z:text>)^{<exponent>}$ of a complex number, in the form $a + "
            "bi$?",
        ),
    )

    part: Ends = dial(4, 9, "largest real or imaginary part", least=2, most=50)
    exponent: Ends = dial(2, 8, "largest exponent", least=2, most=20)
    harder: Ends = dial(0, 1, "share of quotients and powers", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        largest = base.steady(self.part, difficulty)
        a, b, c, d = (nonzero(rng, largest) for _ in range(4))
        z, w = complex_latex(a, b), complex_latex(c, d)
        if rng.random() >= base.steady(self.harder, difficulty):
            return Drawn(
                ask="product",
                values={"z": z, "w": w},
                gold=gold.complex_number(a * c - b * d, a * d + b * c),
                steps=f"Multiply out with $i^2 = -1$. The real part is ${a * c} - {_tight(b * d)}$ "
                f"and the imaginary part is ${a * d} + {_tight(b * c)}$.",
            )
        if rng.random() < 0.5:
            size = c * c + d * d
            top = (a * c + b * d, b * c - a * d)
            return Drawn(
                ask="quotient",
                values={"z": z, "w": w},
                gold=gold.complex_number(Fraction(top[0], size), Fraction(top[1], size)),
                steps=f"Multiply above and below by the conjugate ${complex_latex(c, -d)}$. Below, "
                f"${c * c} + {d * d} = {size}$; above, $({z})({complex_latex(c, -d)}) = "
                f"{complex_latex(*top)}$.",
            )
        a, b = nonzero(rng, 3), nonzero(rng, 3)
        exponent = base.whole(rng, 2, base.steady(self.exponent, difficulty))
        z = complex_latex(a, b)
        found, steps = (a, b), []
        for n in range(2, exponent + 1):
            found = (found[0] * a - found[1] * b, found[0] * b + found[1] * a)
            steps.append(f"$z^{{{n}}} = {complex_latex(*found)}$")
        return Drawn(
            ask="power",
            values={"z": z, "exponent": exponent},
            gold=gold.complex_number(*found),
            steps=f"Multiply by $z = {z}$ again and again: {', '.join(steps)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # As matrices: a + bi is ((a, -b), (b, a)).
        a, b = _read(values["z"])
        matrix: list[list[Number]] = [[a, -b], [b, a]]
        if ask == "power":
            found = matrix
            for _ in range(values["exponent"] - 1):
                found = exact.multiplied(found, matrix)
            return gold.complex_number(found[0][0], found[1][0])
        c, d = _read(values["w"])
        other: list[list[Number]] = [[c, -d], [d, c]]
        if ask == "product":
            found = exact.multiplied(matrix, other)
            return gold.complex_number(found[0][0], found[1][0])
        solution = exact.solved(other, [a, b])
        return None if solution is None else gold.complex_number(*solution)


def _read(text: str) -> tuple[int, int]:
    """Both parts of what ``complex_latex`` wrote of whole parts that are not zero."""
    cut = max(text.rfind("+"), text.rfind("-"))
    size = text[cut:-1]
    return int(text[:cut]), int(size if size[1:] else f"{size}1")


def _tight(value: int) -> str:
    return f"({value})" if value < 0 else str(value)
