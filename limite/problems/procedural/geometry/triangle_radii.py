"""Areas, altitudes and circles of triangles with given sides."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class TriangleRadii(Family):
    """The area, the inradius, the circumradius or an altitude of a triangle by its sides."""

    name = "triangle-radii"
    tag = "geometry/triangles"
    wordings = Wordings(
        area=(
            "The sides of a triangle have lengths $<a>$, $<b>$ and $<c>$. Find its exact area.",
            "A triangular field has sides of $<a>$ m, $<b>$ m and $<c>$ m. Find its exact area in "
            "square metres.",
        ),
        altitude=(
            "The sides of a triangle have lengths $<a>$, $<b>$ and $<c>$. Find the exact length "
            "of the altitude to the side of length $<c>$.",
            "In triangle $ABC$, $BC = <a>$, $CA = <b>$ and $AB = <c>$. Exactly how far is $C$ from "
            "the line $AB$?",
        ),
        inradius=(
            "The sides of a triangle have lengths $<a>$, $<b>$ and $<c>$. Find the exact radius "
            "of its inscribed circle.",
            "In triangle $ABC$, $BC = <a>$, $CA = <b>$ and $AB = <c>$. What is the exact radius of "
            "the circle that touches all three sides from inside?",
        ),
        circumradius=(
            "The sides of a triangle have lengths $<a>$, $<b>$ and $<c>$. Find the exact radius "
            "of its circumscribed circle.",
            "In triangle $ABC$, $BC = <a>$, $CA = <b>$ and $AB = <c>$. What is the exact radius of "
            "the circle through its vertices?",
        ),
    )

    size: Ends = dial(8, 25, "largest side", least=4, most=1000)
    radii: Ends = dial(0, 0.85, "share that asks for more than the area", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a, b = base.whole(rng, 3, size), base.whole(rng, 3, size)
        c = base.whole(rng, abs(a - b) + 1, min(a + b - 1, max(size, abs(a - b) + 1)))
        values = {"a": a, "b": b, "c": c}
        half = Fraction(a + b + c, 2)
        product = half * (half - a) * (half - b) * (half - c)
        area = surds.root(product)
        factors = " \\cdot ".join(ratio_text(each) for each in (half, half - a, half - b, half - c))
        begin = (
            f"Half of the perimeter is ${ratio_text(half)}$. By Heron's formula the squared area "
            f"is ${factors} = {ratio_text(product)}$"
        )
        if rng.random() >= base.steady(self.radii, difficulty):
            return Drawn(ask="area", values=values, gold=surds.said(area), steps=f"{begin}.")
        begin += f", so the area is ${surds.latex(area)}$. "
        kind = base.chosen(rng, ("altitude", "inradius", "circumradius"))
        if kind == "altitude":
            found = surds.times(area, Fraction(2, c))
            begin += f"The altitude is twice the area divided by ${c}$."
        elif kind == "inradius":
            found = surds.times(area, 1 / half)
            begin += "The inradius is the area divided by half of the perimeter."
        else:
            ((under, factor),) = area.items()
            found = {under: a * b * c / (4 * Fraction(factor) * under)}
            begin += (
                f"The circumradius is ${a} \\cdot {b} \\cdot {c} = {a * b * c}$ divided by four "
                f"times the area."
            )
        return Drawn(ask=kind, values=values, gold=surds.said(found), steps=begin)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # In coordinates: A = (0, 0), B = (c, 0), C = (x, y) with x and the square of y rational.
        a, b, c = (values[name] for name in "abc")
        x = Fraction(b * b + c * c - a * a, 2 * c)
        square = b * b - x * x
        if square <= 0:
            return None
        y = surds.root(square)
        if ask == "altitude":
            return surds.said(y)
        if ask == "area":
            return surds.said(surds.times(y, Fraction(c, 2)))
        if ask == "inradius":  # the distances from all sides sum the areas: r (a + b + c) = c y
            return surds.said(surds.times(y, Fraction(c, a + b + c)))
        # The centre is (c/2, k) with x(x - c) + y^2 = 2ky, and the squared radius c^2/4 + k^2.
        k_square = (x * (x - c) + square) ** 2 / (4 * square)
        return surds.said(surds.root(Fraction(c * c, 4) + k_square))
