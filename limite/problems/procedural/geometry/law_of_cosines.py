"""Triangles from two sides and an angle, and angles from three sides."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_COSINE = {60: Fraction(1, 2), 90: Fraction(0), 120: Fraction(-1, 2)}
_SINE: dict[int, dict[int, Fraction]] = {
    30: {1: Fraction(1, 2)},
    45: {2: Fraction(1, 2)},
    60: {3: Fraction(1, 2)},
    120: {3: Fraction(1, 2)},
    135: {2: Fraction(1, 2)},
    150: {1: Fraction(1, 2)},
}


@attrs.frozen(kw_only=True)
class LawOfCosines(Family):
    """A side, an area or the cosine of an angle of a triangle that need not be right."""

    name = "law-of-cosines"
    tag = "geometry/trigonometry"
    wordings = Wordings(
        area=(
            "Two sides of a triangle have lengths $<a>$ and $<b>$ and enclose an angle of "
            "$<angle>$ degrees. Find its exact area.",
            "In triangle $ABC$, $BC = <a>$, $CA = <b>$ and the angle at $C$ measures $<angle>$ "
            "degrees. What is its exact area?",
        ),
        side=(
            "Two sides of a triangle have lengths $<a>$ and $<b>$ and enclose an angle of "
            "$<angle>$ degrees. Find the exact length of the third side.",
            "Two ships leave a harbour on straight courses that form an angle of $<angle>$ "
            "degrees. One has sailed $<a>$ km and the other $<b>$ km. Exactly how far apart are "
            "they, in km?",
        ),
        cosine=(
            "In triangle $ABC$, $BC = <a>$, $CA = <b>$ and $AB = <c>$. Find the cosine of the "
            "angle at $C$.",
            "A triangle has sides of lengths $<a>$, $<b>$ and $<c>$. What is the cosine of the "
            "angle opposite the side of length $<c>$?",
        ),
        sine=(
            "In triangle $ABC$ the angle at $A$ measures $<first>$ degrees, the angle at $B$ "
            "measures $<second>$ degrees, and $BC = <a>$. Find the exact length of $CA$.",
            "A triangle has a side of length $<a>$ opposite an angle of $<first>$ degrees. Find "
            "the exact length of the side opposite its angle of $<second>$ degrees.",
        ),
    )

    size: Ends = dial(9, 30, "largest side given", least=4, most=200)
    laws: Ends = dial(0.1, 1, "share that needs more than half a product", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a, b = base.whole(rng, 2, size), base.whole(rng, 2, size)
        if rng.random() >= base.steady(self.laws, difficulty):
            angle = base.chosen(rng, tuple(_SINE))
            sine = _SINE[angle]
            return Drawn(
                ask="area",
                values={"a": a, "b": b, "angle": angle},
                gold=surds.said(surds.times(sine, Fraction(a * b, 2))),
                steps=f"The area is half of ${a} \\cdot {b} \\cdot \\sin {angle}^\\circ$, and "
                f"$\\sin {angle}^\\circ = {surds.latex(sine)}$.",
            )
        kind = base.chosen(rng, ("side", "cosine", "sine"))
        if kind == "side":
            angle = base.chosen(rng, (60, 120))
            square = a * a + b * b - int(2 * a * b * _COSINE[angle])
            return Drawn(
                ask=kind,
                values={"a": a, "b": b, "angle": angle},
                gold=surds.said(surds.root(square)),
                steps=f"By the law of cosines the square of the side is ${a}^2 + {b}^2 - 2 \\cdot "
                f"{a} \\cdot {b} \\cdot \\cos {angle}^\\circ$. With $\\cos {angle}^\\circ = "
                f"{ratio_text(_COSINE[angle])}$ it is ${square}$.",
            )
        if kind == "cosine":
            c = base.whole(rng, abs(a - b) + 1, min(a + b - 1, max(size, abs(a - b) + 1)))
            above = a * a + b * b - c * c
            return Drawn(
                ask=kind,
                values={"a": a, "b": b, "c": c},
                gold=gold.rational(Fraction(above, 2 * a * b)),
                steps=f"By the law of cosines ${c}^2 = {a}^2 + {b}^2 - 2 \\cdot {a} \\cdot {b} "
                f"\\cdot \\cos C$. So $\\cos C = \\frac{{{a * a} + {b * b} - {c * c}}}"
                f"{{{2 * a * b}}} = \\frac{{{above}}}{{{2 * a * b}}}$.",
            )
        first, second = base.chosen(
            rng,
            [
                (u, v)
                for u in _SINE
                for v in _SINE
                if u != v and u + v < 180 and _SINE[u] != _SINE[v]
            ],
        )
        ((one, f),), ((other, g),) = _SINE[first].items(), _SINE[second].items()
        # Both factors are a half, so the ratio of the sines is that of the roots.
        found = surds.times(surds.root(Fraction(other, one)), a * g / f)
        return Drawn(
            ask=kind,
            values={"a": a, "first": first, "second": second},
            gold=surds.said(found),
            steps=f"By the law of sines the sides are as the sines of the opposite angles: "
            f"$\\sin {first}^\\circ = {surds.latex(_SINE[first])}$ and $\\sin {second}^\\circ = "
            f"{surds.latex(_SINE[second])}$. So ${a}$ is multiplied by the second and divided by "
            f"the first.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # In coordinates, with directions on the unit circle, measured in doubles; the exact
        # number is the root of a rational square with a small denominator.
        if ask == "cosine":
            a, b, c = values["a"], values["b"], values["c"]
            # C = (0, 0), B = (a, 0), A = (x, y): from |A - B|^2 = c^2 follows x = b cos C.
            x = Fraction(a * a + b * b - c * c, 2 * a)
            return gold.rational(x / b) if abs(x) < b else None
        if ask == "sine":
            # The altitude from C on AB is seen from A under one angle, from B under the other.
            height = values["a"] * math.sin(math.radians(values["second"]))
            return _from_measure(height / math.sin(math.radians(values["first"])))
        a, b, angle = values["a"], values["b"], math.radians(values["angle"])
        x, y = b * math.cos(angle), b * math.sin(angle)
        return _from_measure(math.hypot(a - x, y) if ask == "side" else abs(a * y) / 2)


def _from_measure(length: float) -> Gold | None:
    """The root of the one multiple of 1/48 that a measured square is near to."""
    square = length * length * 48
    whole = round(square)
    if abs(square - whole) > 1e-6 * max(1.0, square / 1e6):
        return None
    return surds.said(surds.root(Fraction(whole, 48)))
