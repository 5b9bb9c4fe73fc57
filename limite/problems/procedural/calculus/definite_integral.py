"""Integrals of polynomials over intervals, and what they mean."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class DefiniteIntegral(Family):
    """The integral of a polynomial over an interval, its mean value, or the area under its size."""

    name = "definite-integral"
    tag = "calculus/integrals"
    wordings = Wordings(
        integral=(
            "Compute $\\int_{<low>}^{<high>} (<f:polynomial>)\\,dx$.",
            "Find the integral of $<f:polynomial>$ from $x = <low>$ to $x = <high>$.",
        ),
        mean=(
            "Find the average value of $f(x) = <f:polynomial>$ on the interval $[<low>, <high>]$.",
            "What is the mean value of the function $f(x) = <f:polynomial>$ over "
            "$<low> \\le x \\le <high>$?",
        ),
        change=(
            "The content of a tank changes at the rate of $<f:polynomial>$ litres per minute when "
            "$x$ minutes have passed. By how many litres does it change from $x = <low>$ to "
            "$x = <high>$? A decrease counts as negative.",
            "After $x$ hours water flows into a lake at $<f:polynomial>$ cubic metres per hour "
            "(out of it where this is negative). By how many cubic metres does the lake grow from "
            "$x = <low>$ to $x = <high>$? A loss counts as negative.",
        ),
        size=(
            "Compute $\\int_{<low>}^{<high>} |<f:polynomial>|\\,dx$.",
            "Find the integral of the absolute value of $<f:polynomial>$ from $x = <low>$ to "
            "$x = <high>$.",
        ),
    )

    degree: Ends = dial(1, 4, "highest power of the polynomial", least=1, most=5)
    size: Ends = dial(6, 12, "largest coefficient", least=2, most=1000)
    turned: Ends = dial(0, 0.4, "share with an absolute value", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        low = base.whole(rng, -2, 2)
        high = low + base.whole(rng, 2, 4)
        values: dict[str, Any] = {"low": low, "high": high}
        if rng.random() < base.steady(self.turned, difficulty):
            root = base.whole(rng, low + 1, high - 1)
            other = base.chosen(rng, (low - 1, high + 1, root))
            roots = (root,) if other == root else (root, other)
            f = p.with_roots(roots, exact.nonzero(rng, 3))
            above = _above(f)
            parts = [p.value(above, v) - p.value(above, u) for u, v in ((low, root), (root, high))]
            total = sum((abs(Fraction(part)) for part in parts), Fraction(0))
            return Drawn(
                ask="size",
                values={**values, "f": f},
                gold=gold.rational(total),
                steps=f"Between ${low}$ and ${high}$ the sign changes only at $x = {root}$. An "
                f"antiderivative is ${p.latex(above)}$. The integral up to ${root}$ is "
                f"${ratio_text(parts[0])}$ and after it ${ratio_text(parts[1])}$; add their "
                f"absolute values.",
            )
        kind = base.chosen(rng, ("integral", "integral", "mean", "change"))
        if kind == "change":
            low, high = low + 2, high + 2
            values = {"low": low, "high": high}
        f = exact.some(rng, base.whole_near(rng, base.steady(self.degree, difficulty)), size)
        above = _above(f)
        first, last = Fraction(p.value(above, low)), Fraction(p.value(above, high))
        steps = (
            f"An antiderivative is ${p.latex(above)}$. At ${high}$ it is ${ratio_text(last)}$, at "
            f"${low}$ it is ${ratio_text(first)}$; the difference is ${ratio_text(last - first)}$"
        )
        found = last - first
        if kind == "mean":
            found /= high - low
            steps += f", divided by the length ${high - low}$ of the interval"
        if kind == "change":
            steps = f"The change is the integral of the rate. {steps}"
        return Drawn(
            ask=kind, values={**values, "f": f}, gold=gold.rational(found), steps=f"{steps}."
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By Boole's rule on five points, exact here; cut at roots that are found by trying.
        f, low, high = values["f"], values["low"], values["high"]
        if p.degree(f) > 5 or low >= high:
            return None
        if ask == "size":
            roots = exact.rational_roots(f)
            if roots is None:
                return None
            cuts = [low, *(root for root in roots if low < root < high), high]
            return gold.rational(
                sum(abs(exact.under(f, cuts[k], cuts[k + 1])) for k in range(len(cuts) - 1))
            )
        total = exact.under(f, low, high)
        return gold.rational(total / (high - low) if ask == "mean" else total)


def _above(terms: Polynomial) -> Polynomial:
    return p.polynomial([0, *(Fraction(c, n + 1) for n, c in enumerate(terms))])
