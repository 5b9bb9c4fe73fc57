"""Tangents and normals of graphs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import lines
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class TangentLine(Family):
    """The equation of the tangent or the normal of a graph at a point."""

    name = "tangent-line"
    tag = "calculus/tangents"
    wordings = Wordings(
        tangent=(
            "Find an equation in $x$ and $y$ of the tangent to the graph of $y = <f:polynomial>$ "
            "at $x = <t>$.",
            "A line touches the curve $y = <f:polynomial>$ at the point with $x = <t>$. Give an "
            "equation of this line in $x$ and $y$.",
        ),
        normal=(
            "Find an equation in $x$ and $y$ of the line that is perpendicular to the curve "
            "$y = <f:polynomial>$ at the point with $x = <t>$.",
            "Give an equation in $x$ and $y$ of the normal to the graph of $y = <f:polynomial>$ "
            "at $x = <t>$.",
        ),
        reciprocal=(
            "Find an equation in $x$ and $y$ of the tangent to the graph of $y = "
            "\\frac{<a>}{<f:polynomial>}$ at $x = <t>$.",
            "A line touches the curve $y = \\frac{<a>}{<f:polynomial>}$ at the point with "
            "$x = <t>$. Give an equation of this line in $x$ and $y$.",
        ),
    )

    degree: Ends = dial(2, 4, "highest power of the polynomial", least=2, most=6)
    size: Ends = dial(4, 9, "largest coefficient", least=2, most=1000)
    others: Ends = dial(0, 0.7, "share that asks for a normal or has a fraction", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        f = exact.some(rng, base.whole_near(rng, base.steady(self.degree, difficulty)), size)
        t = exact.nonzero(rng, 3)
        other = rng.random() < base.steady(self.others, difficulty)
        if other and rng.random() < 0.5:
            f, a = exact.some(rng, 1, size), exact.nonzero(rng, size)
            while p.value(f, t) in (-1, 0, 1) or not f[0]:
                f = (f[0] + 1, f[1])
            below = p.value(f, t)
            rise = Fraction(-a * f[1]) / (below * below)
            height = Fraction(a) / below
            how = f"The derivative is $\\frac{{{-a * f[1]}}}{{({p.latex(f)})^2}}$"
            ask, values = "reciprocal", {"f": f, "a": a, "t": t}
        else:
            inner = p.derivative(f)
            rise, height = Fraction(p.value(inner, t)), Fraction(p.value(f, t))
            how = f"The derivative is ${p.latex(inner)}$"
            ask, values = "normal" if other else "tangent", {"f": f, "t": t}
        at = f"$({t}, {ratio_text(height)})$"
        how += f", which at $x = {t}$ is ${ratio_text(rise)}$. The point is {at}"
        if ask == "normal":
            found = lines.said((1, rise, t + rise * height))
            how += (
                f". The tangent runs along $(1, {ratio_text(rise)})$, and the normal is "
                f"perpendicular to that: $x + my$ with $m = {ratio_text(rise)}$ is the same on all "
                "of it"
            )
        else:
            found = lines.said((rise, -1, rise * t - height))
            how += f", and $y - mx$ with $m = {ratio_text(rise)}$ is the same all along the line"
        return Drawn(ask=ask, values=values, gold=found, steps=f"{how}.")

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # What remains of f after division by (x - t)^2 is the line that touches there.
        f, t = values["f"], values["t"]
        touching = (t * t, -2 * t, 1)
        if ask == "reciprocal":
            # A line l with f l = a + c (x - t)^2: the inverse of f for remainders, times a.
            below, slope = p.value(f, t), exact.slope(f, t)
            if not below:
                return None
            flipped = p.polynomial((below + slope * t, -slope))
            check = p.divided(p.times(f, flipped), touching)[1]
            if p.degree(check) != 0:
                return None
            rest = p.scaled(flipped, Fraction(values["a"]) / check[0])
        else:
            rest = p.divided(f, touching)[1]
        low, rise = (*rest, 0, 0)[:2]
        if ask == "normal":
            return lines.said((1, rise, t + rise * (low + rise * t)))
        return lines.said((rise, -1, -low))
