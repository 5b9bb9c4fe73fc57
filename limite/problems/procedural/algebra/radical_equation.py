"""Equations with square roots, where squaring brings false solutions."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import factor, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import latex
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class RadicalEquation(Family):
    """The real solutions of an equation with square roots, as a set."""

    name = "radical-equation"
    tag = "algebra/radicals"
    wordings = Wordings(
        one=(
            "Find the set of all real solutions of $\\sqrt{<inside:polynomial>} = "
            "<right:polynomial>$.",
            "Solve $\\sqrt{<inside:polynomial>} = <right:polynomial>$ over the real numbers. "
            "Answer with the set of solutions.",
        ),
        two=(
            "Find the set of all real solutions of $\\sqrt{<inside:polynomial>} <sign:text> "
            "\\sqrt{<second:polynomial>} = <right>$.",
            "Which real numbers $x$ satisfy $\\sqrt{<inside:polynomial>} <sign:text> "
            "\\sqrt{<second:polynomial>} = <right>$? Answer with the set of all of them.",
        ),
    )

    size: Ends = dial(5, 15, "largest solution", least=3, most=200)
    linear: Ends = dial(0.2, 1, "share with more than a number beside the root", least=0, most=1)
    two: Ends = dial(0, 0.5, "share of those with two roots", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        if rng.random() >= base.steady(self.linear, difficulty):
            x, slope, root = nonzero(rng, size), base.whole(rng, 1, 5), base.whole(rng, 2, 7)
            inside = polynomials.polynomial((root * root - slope * x, slope))
            return Drawn(
                ask="one",
                values={"inside": inside, "right": (root,)},
                gold=gold.finite_set([x]),
                steps=f"Squaring gives ${latex(inside)} = {root * root}$, so "
                f"${latex((0, slope))} = {slope * x}$.",
            )
        if rng.random() < base.steady(self.two, difficulty):
            return _two(rng, size)
        # sqrt(ax + b) = x + d, where squaring leads to (x - first)(x - second) = 0.
        first, gap = nonzero(rng, size), base.whole(rng, 1, size / 2 + 1)
        second = first - gap
        # Both hold where x + d is not negative at the smaller one; else only the larger does.
        shift = base.whole(rng, 0, 3) if rng.random() < 0.4 else -base.whole(rng, 1, gap)
        d = shift - second
        slope = 2 * d + first + second
        inside = polynomials.polynomial((d * d - first * second, slope))
        if not slope:
            d += 1
            inside = polynomials.polynomial((d * d - first * second, 2))
        solutions = [each for each in (first, second) if each + d >= 0]
        dropped = [each for each in (first, second) if each + d < 0]
        squared = polynomials.polynomial((d * d, 2 * d, 1))
        checks = [f"at $x = {each}$ the right side is ${each + d}$" for each in (second, first)]
        return Drawn(
            ask="one",
            values={"inside": inside, "right": polynomials.polynomial((d, 1))},
            gold=gold.finite_set(solutions),
            steps=f"Squaring gives ${latex(inside)} = {latex(squared)}$, that is "
            f"${latex(polynomials.with_roots((first, second)))} = 0$ or "
            f"${_product(first, second)} = 0$. A square root is not negative: "
            f"{' and '.join(checks)}, so "
            + (f"${dropped[0]}$ is no solution." if dropped else "both are solutions."),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        inside, right = values["inside"], values["right"]
        if ask == "two":
            # From sum or difference s of the roots: their squares differ by a known number.
            second = values["second"]
            if len(inside) != 2 or inside[1] != second[1]:
                return None
            other = Fraction(inside[0] - second[0], right)  # the difference, or the sum
            root = (right + other) / 2
            low = (other - right if values["sign"] == "-" else right - other) / 2
            if root < 0 or low < 0:
                return gold.finite_set([])
            return gold.finite_set([(root * root - inside[0]) / inside[1]])
        # In the root u itself: x = (u^2 - b)/a, and u = cx + d is quadratic in u.
        b, a = inside
        d, c = (*right, 0)[:2]
        if c == 0:
            return gold.finite_set([Fraction(d * d - b, a)] if d >= 0 else [])
        # c u^2 - a u + (a d - b c) = 0
        under = a * a - 4 * c * (a * d - b * c)
        root = math.isqrt(max(under, 0))
        if under < 0 or root * root != under:
            return None
        found = {Fraction(a + sign * root, 2 * c) for sign in (1, -1)}
        return gold.finite_set((u * u - b) / a for u in found if u >= 0)


def _two(rng: random.Random, size: float) -> Drawn:
    """sqrt(x + a) + sqrt(x + b) = s, or their difference."""
    high, low = sorted(base.distinct(rng, 2, 1, 4 + int(size / 2)), reverse=True)
    x = nonzero(rng, size)
    a, b = high * high - x, low * low - x
    minus = rng.random() < 0.4
    right = high - low if minus else high + low
    inside, second = polynomials.polynomial((a, 1)), polynomials.polynomial((b, 1))
    sign, other = ("-", "+") if minus else ("+", "-")
    roots = [f"\\sqrt{{{latex(each)}}}" for each in (inside, second)]
    return Drawn(
        ask="two",
        values={"inside": inside, "sign": sign, "second": second, "right": right},
        gold=gold.finite_set([x]),
        steps=f"The product of ${roots[0]} {sign} {roots[1]}$ and ${roots[0]} {other} {roots[1]}$ "
        f"is the difference of what stands under the roots, ${a - b}$. So ${roots[0]} {other} "
        f"{roots[1]} = {ratio_text(Fraction(a - b, right))}$. Adding both gives $2{roots[0]} = "
        f"{2 * high}$, so ${latex(inside)} = {high * high}$. Then ${roots[1]} = {low}$, as needed.",
    )


def _product(first: int, second: int) -> str:
    return "".join(map(factor, sorted((first, second), key=bool)))
