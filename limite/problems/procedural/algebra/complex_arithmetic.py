"""Products, quotients and powers of complex numbers, and equations with them."""

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
    """Both parts of a product, quotient or power of complex numbers, or a linear equation."""

    name = "complex-arithmetic"
    tag = "algebra/complex-numbers"
    wordings = Wordings(
        product=(
            "Find the real numbers $a$ and $b$ with $(<z:text>)(<w:text>) = a + bi$. Give the pair "
            "$(a, b)$.",
            "What is the product of the complex numbers $<z:text>$ and $<w:text>$? Answer with the "
            "pair of its real part and its imaginary part, in this order.",
        ),
        quotient=(
            "Write $\\frac{<z:text>}{<w:text>}$ as $a + bi$ with exact real $a$ and $b$. Give the "
            "pair $(a, b)$.",
            "Divide the complex number $<z:text>$ by $<w:text>$. Answer with the exact pair of the "
            "real part and the imaginary part, in this order.",
        ),
        power=(
            "Find the real numbers $a$ and $b$ with $(<z:text>)^{<exponent>} = a + bi$. Give the "
            "pair $(a, b)$.",
            "What are the real part and the imaginary part of $(<z:text>)^{<exponent>}$? Answer "
            "with the pair of both, in this order.",
        ),
        equation=(
            "Solve $(<w:text>)z + (<u:text>) = <v:text>$ for the complex number $z$. Answer in the "
            "form $a + bi$.",
            "Which complex number $z$ satisfies $(<w:text>)z = <v:text> - (<u:text>)$? Write it as "
            "$a + bi$ with real $a$ and $b$.",
        ),
    )

    part: Ends = dial(4, 9, "largest real or imaginary part", least=2, most=50)
    exponent: Ends = dial(2, 8, "largest exponent", least=2, most=20)
    harder: Ends = dial(0, 1, "share of quotients, powers and equations", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        largest = base.steady(self.part, difficulty)
        a, b, c, d = (nonzero(rng, largest) for _ in range(4))
        z, w = complex_latex(a, b), complex_latex(c, d)
        if rng.random() >= base.steady(self.harder, difficulty):
            return Drawn(
                ask="product",
                values={"z": z, "w": w},
                gold=gold.ordered((a * c - b * d, a * d + b * c)),
                steps=f"Multiply out with $i^2 = -1$. The real part is ${a * c} - {_tight(b * d)}$ "
                f"and the imaginary part is ${a * d} + {_tight(b * c)}$.",
            )
        kind, size = base.chosen(rng, ("quotient", "power", "equation")), c * c + d * d
        if kind == "quotient":
            top = (a * c + b * d, b * c - a * d)
            return Drawn(
                ask="quotient",
                values={"z": z, "w": w},
                gold=gold.ordered((Fraction(top[0], size), Fraction(top[1], size))),
                steps=f"Multiply above and below by the conjugate ${complex_latex(c, -d)}$. Below, "
                f"${c * c} + {d * d} = {size}$; above, $({z})({complex_latex(c, -d)}) = "
                f"{complex_latex(*top)}$.",
            )
        if kind == "equation":
            e, f = nonzero(rng, largest), nonzero(rng, largest)
            product = (a * c - b * d, a * d + b * c)
            right, conjugate = complex_latex(*product), complex_latex(c, -d)
            return Drawn(
                ask="equation",
                values={
                    "w": w,
                    "u": complex_latex(e, f),
                    "v": complex_latex(product[0] + e, product[1] + f),
                },
                gold=gold.complex_number(a, b),
                steps=f"Subtracting on both sides leaves $({w})z = {right}$. Multiplying by the "
                f"conjugate ${conjugate}$ gives ${size}z = ({right})({conjugate}) = "
                f"{complex_latex(size * a, size * b)}$, which is divided by ${size}$.",
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
            gold=gold.ordered(found),
            steps=f"Multiply by $z = {z}$ again and again: {', '.join(steps)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # As matrices: a + bi is ((a, -b), (b, a)).
        if ask == "equation":
            (c, d), (e, f), (g, h) = (_read(values[name]) for name in "wuv")
            solution = exact.solved([[c, -d], [d, c]], [g - e, h - f])
            return None if solution is None else gold.complex_number(*solution)
        a, b = _read(values["z"])
        matrix: list[list[Number]] = [[a, -b], [b, a]]
        if ask == "power":
            found = matrix
            for _ in range(values["exponent"] - 1):
                found = exact.multiplied(found, matrix)
            return gold.ordered((found[0][0], found[1][0]))
        c, d = _read(values["w"])
        other: list[list[Number]] = [[c, -d], [d, c]]
        if ask == "product":
            found = exact.multiplied(matrix, other)
            return gold.ordered((found[0][0], found[1][0]))
        solution = exact.solved(other, [a, b])
        return None if solution is None else gold.ordered(solution)


def _read(text: str) -> tuple[int, int]:
    """Both parts of what ``complex_latex`` wrote of whole parts."""
    if not text.endswith("i"):
        return int(text), 0
    cut = max(text.rfind("+"), text.rfind("-"), 0)
    size = text[cut:-1]
    return int(text[:cut] or 0), int(size if size.lstrip("+-") else f"{size}1")


def _tight(value: int) -> str:
    return f"({value})" if value < 0 else str(value)
