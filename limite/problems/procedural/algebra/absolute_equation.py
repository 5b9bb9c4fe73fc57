"""Equations with absolute values."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra.writing import linear, nonzero, read_linear
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class AbsoluteEquation(Family):
    """The real solutions of an equation with absolute values, as a set."""

    name = "absolute-equation"
    tag = "algebra/absolute-values"
    wordings = Wordings(
        two=(
            "Find the set of all real solutions of $|<inside:text>| + |<second:text>| = <right>$.",
            "Which real numbers $x$ satisfy $|<inside:text>| + |<second:text>| = <right>$? Answer "
            "with the set of all of them.",
        ),
        one=(
            "Find the set of all real solutions of $|<inside:text>| = <right:text>$.",
            "Solve $|<inside:text>| = <right:text>$ over the real numbers. Answer with the set of "
            "solutions.",
        ),
    )

    size: Ends = dial(6, 15, "largest number drawn", least=3, most=200)
    slope: Ends = dial(1, 5, "largest coefficient of x", most=20)
    harder: Ends = dial(0, 1, "share with x on both sides or two absolute values", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a = base.whole(rng, 1, base.steady(self.slope, difficulty))
        b = nonzero(rng, size)
        if rng.random() >= base.steady(self.harder, difficulty):
            c = base.whole(rng, 1, size)
            return Drawn(
                ask="one",
                values={"inside": linear([a], "x", b), "right": str(c)},
                gold=gold.finite_set([Fraction(c - b, a), Fraction(-c - b, a)]),
                steps=f"Either ${linear([a], 'x', b)} = {c}$, so ${linear([a], 'x')} = {c - b}$, "
                f"or ${linear([a], 'x', b)} = {-c}$, so ${linear([a], 'x')} = {-c - b}$.",
            )
        if rng.random() < 0.5:
            return _two(rng, size, a)
        c, d = nonzero(rng, a + 2), nonzero(rng, size)
        if abs(c) == a:
            c += 1 if c > 0 else -1
        # The right side must not be negative where a case is solved.
        cases = [(Fraction(d - b, a - c), 1), (Fraction(-d - b, a + c), -1)]
        kept = [x for x, _ in cases if c * x + d >= 0]
        if not kept:  # the negated right side leads to the same cases, and one of them holds
            c, d = -c, -d
            cases = [(x, -sign) for x, sign in cases]
            kept = [x for x, _ in cases if c * x + d >= 0]
        steps = []
        for x, sign in cases:
            side = linear([sign * c], "x", sign * d)
            value = c * x + d
            steps.append(
                f"${linear([a], 'x', b)} = {side}$ gives $x = {ratio_text(x)}$, where the right "
                f"side is ${ratio_text(value)}$" + ("" if value >= 0 else ", which is negative")
            )
        return Drawn(
            ask="one",
            values={"inside": linear([a], "x", b), "right": linear([c], "x", d)},
            gold=gold.finite_set(kept),
            steps=f"The right side, ${linear([c], 'x', d)}$, must not be negative. The case "
            f"{steps[0]}. The case {steps[1]}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        (a,), b = read_linear(values["inside"], "x")
        if ask == "one":
            # Squared, and the quadratic solved; then each candidate is tried.
            (c,), d = read_linear(values["right"], "x")
            square, middle, last = a * a - c * c, a * b - c * d, b * b - d * d
            if square == 0:
                return None
            under = middle * middle - square * last
            root = math.isqrt(int(under))
            if under < 0 or root * root != under:
                return None
            found = [Fraction(-middle + sign * root, square) for sign in (1, -1)]
            return gold.finite_set(x for x in found if abs(a * x + b) == c * x + d)
        # Every choice of signs, each candidate tried.
        (c,), d = read_linear(values["second"], "x")
        right, candidates = values["right"], []
        for sign in (1, -1):
            for other in (1, -1):
                slope, constant = sign * a + other * c, sign * b + other * d
                if slope:
                    candidates.append(Fraction(right - constant, slope))
                elif constant == right:
                    return None  # a whole interval may solve it
        return gold.finite_set(x for x in candidates if abs(a * x + b) + abs(c * x + d) == right)


def _two(rng: random.Random, size: float, a: int) -> Drawn:
    """|ax - p| + |ax - q| = s with s greater than the distance of p and q."""
    p, q = sorted(base.distinct(rng, 2, -int(size), int(size)))
    right = q - p + base.whole(rng, 1, size)
    first, second = linear([a], "x", -p), linear([a], "x", -q)
    total = linear([2 * a], "x", -p - q)
    return Drawn(
        ask="two",
        values={"inside": first, "second": second, "right": right},
        gold=gold.finite_set([Fraction(p + q + right, 2 * a), Fraction(p + q - right, 2 * a)]),
        steps=f"Where ${linear([a], 'x')}$ lies between ${p}$ and ${q}$, the sum is ${q - p}$, "
        f"which is not ${right}$. Above, it is ${total} = {right}$, so ${linear([2 * a], 'x')} = "
        f"{p + q + right}$. Below, it is ${linear([-2 * a], 'x', p + q)} = {right}$, so "
        f"${linear([2 * a], 'x')} = {p + q - right}$.",
    )
