"""Complex solutions of quadratic equations."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import later, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold, complex_latex
from limite.problems.procedural.polynomials import latex
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class ComplexRoots(Family):
    """Both complex solutions of a quadratic equation, or both square roots of a number."""

    name = "complex-roots"
    tag = "algebra/complex-numbers"
    wordings = Wordings(
        equation=(
            "Find the set of all complex solutions of $<terms:text> = 0$.",
            "Solve $<terms:text> = 0$ over the complex numbers. Answer with the set of solutions.",
        ),
        square=(
            "Find the set of all complex numbers $z$ with $z^2 = <number:text>$, each in the form "
            "$a + bi$.",
            "Which complex numbers have the square $<number:text>$? Answer with the set of both, "
            "in the form $a + bi$.",
        ),
    )

    part: Ends = dial(6, 15, "largest real or imaginary part", least=2, most=100)
    broken: Ends = dial(0, 0.6, "share of equations with fractions", least=0, most=1)
    square: Ends = dial(0, 0.5, "share of square roots", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        largest = base.steady(self.part, difficulty)
        if rng.random() < base.steady(self.square, difficulty):
            a, b = base.whole(rng, 1, largest), nonzero(rng, largest)
            signs = "the same" if b > 0 else "opposite"
            real, imaginary = a * a - b * b, 2 * a * b
            return Drawn(
                ask="square",
                values={"number": complex_latex(real, imaginary)},
                gold=gold.complex_set([(a, b), (-a, -b)]),
                steps=f"For $z = a + bi$ this means $a^2 - b^2 = {real}$ and $2ab = {imaginary}$. "
                f"The absolute values give $a^2 + b^2 = {a * a + b * b}$, so $a^2 = {a * a}$ and "
                f"$b^2 = {b * b}$, and the signs of $a$ and $b$ are {signs}.",
            )
        below = base.whole(rng, 2, 4) if rng.random() < base.steady(self.broken, difficulty) else 1
        middle = Fraction(nonzero(rng, largest * below), below)
        distance = Fraction(base.whole(rng, 1, largest), below)
        square = polynomials.polynomial((middle * middle + distance * distance, -2 * middle, 1))
        lead = math.lcm(*(Fraction(each).denominator for each in square))
        terms = polynomials.scaled(square, lead)
        shifted = f"(z{later(-middle)})^2"
        return Drawn(
            ask="equation",
            values={"terms": latex(terms, "z")},
            gold=gold.complex_set([(middle, distance), (middle, -distance)]),
            steps=("" if lead == 1 else f"Dividing by ${lead}$ gives ${latex(square, 'z')} = 0$. ")
            + f"Completing the square gives ${shifted} = {ratio_text(-distance * distance)}$, so "
            f"$z{later(-middle)} = \\pm {complex_latex(0, distance)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "square":
            real, imaginary = _read(values["number"])
            # The real part divides half the imaginary one: each is tried.
            half = abs(imaginary) // 2
            for first in range(1, half + 1):
                second = half // first if imaginary > 0 else -half // first
                if half % first == 0 and first * first - second * second == real:
                    return gold.complex_set([(first, second), (-first, -second)])
            return None
        # By the quadratic formula.
        c, b, a = polynomials.read(values["terms"], "z")
        under = int(4 * a * c - b * b)
        root = math.isqrt(max(under, 0))
        if under <= 0 or root * root != under:
            return None
        whole, part = polynomials.quotient(-b, 2 * a), polynomials.quotient(root, 2 * a)
        return gold.complex_set([(whole, part), (whole, -part)])


def _read(text: str) -> tuple[int, int]:
    cut = max(text.rfind("+"), text.rfind("-"))
    if cut <= 0:
        return 0, int(text[:-1] or 1) if text[:-1] != "-" else -1
    size = text[cut:-1]
    return int(text[:cut]), int(size if size[1:] else f"{size}1")
