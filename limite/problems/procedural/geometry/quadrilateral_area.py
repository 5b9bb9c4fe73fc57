"""Areas of trapezoids, rhombi, parallelograms and kites, and lengths in them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_Place = tuple[Fraction, Fraction]


@attrs.frozen(kw_only=True)
class QuadrilateralArea(Family):
    """The area of a trapezoid, a kite or a parallelogram, or a length that follows from it."""

    name = "quadrilateral-area"
    tag = "geometry/area"
    wordings = Wordings(
        words={"thing": ("garden", "meadow", "roof", "courtyard")},
        trapezoid=(
            "The parallel sides of a trapezoid have lengths $<a>$ and $<b>$ and are $<h>$ apart. "
            "Find its area.",
            "A <thing> is a trapezoid with parallel sides of $<a>$ m and $<b>$ m at a distance of "
            "$<h>$ m. What is its area in square metres?",
        ),
        kite=(
            "The diagonals of a kite have lengths $<a>$ and $<b>$. Find its area.",
            "A quadrilateral has perpendicular diagonals of lengths $<a>$ and $<b>$. What is its "
            "area?",
        ),
        height=(
            "A trapezoid has area $<s>$ and parallel sides of lengths $<a>$ and $<b>$. Find the "
            "distance between its parallel sides.",
            "A <thing> in the form of a trapezoid measures $<s>$ square metres. Its parallel "
            "sides are $<a>$ m and $<b>$ m long. How far apart are they, in metres?",
        ),
        altitude=(
            "A parallelogram has sides of lengths $<a>$ and $<b>$. Its altitude to the side of "
            "length $<a>$ is $<h>$. Find its other altitude.",
            "In a parallelogram with sides $<a>$ and $<b>$ the two sides of length $<a>$ are $<h>$ "
            "apart. How far apart are the two sides of length $<b>$?",
        ),
        isosceles=(
            "An isosceles trapezoid has parallel sides of lengths $<a>$ and $<b>$ and legs of "
            "length $<c>$. Find its exact area.",
            "A trapezoid with parallel sides $<a>$ and $<b>$ has two legs of length $<c>$. What is "
            "its exact area?",
        ),
        rhombus=(
            "A rhombus has sides of length $<c>$ and one diagonal of length $<a>$. Find its exact "
            "area.",
            "All sides of a quadrilateral have length $<c>$, and one of its diagonals has length "
            "$<a>$. What is its exact area?",
        ),
        crossed=(
            "The diagonals of a trapezoid with parallel sides of lengths $<a>$ and $<b>$ cut it "
            "into four triangles. The distance between the parallel sides is $<h>$. Find the area "
            "of the triangle on the side of length $<a>$.",
            "In a trapezoid the parallel sides $AB = <a>$ and $CD = <b>$ are $<h>$ apart, and the "
            "diagonals meet at $P$. What is the area of triangle $ABP$?",
        ),
    )

    size: Ends = dial(12, 40, "largest length", least=6, most=1000)
    hard: Ends = dial(0, 0.9, "share that needs more than one formula", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a, b, h = (base.whole(rng, 3, size) for _ in range(3))
        b += a == b
        values = {"a": a, "b": b, "h": h}
        if rng.random() >= base.steady(self.hard, difficulty):
            if rng.random() < 0.7:
                return Drawn(
                    ask="trapezoid",
                    values=values,
                    gold=gold.rational(Fraction((a + b) * h, 2)),
                    steps=f"The mean of the parallel sides is $\\frac{{{a} + {b}}}{{2}} = "
                    f"{ratio_text(Fraction(a + b, 2))}$, times the distance ${h}$.",
                )
            return Drawn(
                ask="kite",
                values=values,
                gold=gold.rational(Fraction(a * b, 2)),
                steps=f"Perpendicular diagonals enclose half of the rectangle with these sides: "
                f"$\\frac{{1}}{{2}} \\cdot {a} \\cdot {b}$.",
            )
        kind = base.chosen(rng, ("height", "altitude", "isosceles", "rhombus", "crossed"))
        if kind == "height":
            s = base.whole(rng, 10, 8 * size)
            return Drawn(
                ask=kind,
                values={"a": a, "b": b, "s": s},
                gold=gold.rational(Fraction(2 * s, a + b)),
                steps=f"The area is half of the sum ${a} + {b} = {a + b}$ times the distance, so "
                f"the distance is $\\frac{{2 \\cdot {s}}}{{{a + b}}}$.",
            )
        if kind == "altitude":
            a, b = max(a, b), min(a, b)
            h = base.whole(rng, 1, b - 1)
            return Drawn(
                ask=kind,
                values={"a": a, "b": b, "h": h},
                gold=gold.rational(Fraction(a * h, b)),
                steps=f"The area is ${a} \\cdot {h} = {a * h}$, and it is also ${b}$ times the "
                f"other altitude.",
            )
        if kind == "isosceles":
            leg = abs(a - b) // 2 + base.whole(rng, 1, size / 2)
            short = Fraction(abs(a - b), 2)
            height = leg * leg - short * short
            return Drawn(
                ask=kind,
                values={"a": a, "b": b, "c": leg},
                gold=surds.said(surds.times(surds.root(height), Fraction(a + b, 2))),
                steps=f"On each side the longer parallel side stands out by ${ratio_text(short)}$. "
                f"The square of the height is ${leg}^2 - {_squared(short)} = "
                f"{ratio_text(height)}$, and the height is multiplied by "
                f"$\\frac{{{a} + {b}}}{{2}} = {ratio_text(Fraction(a + b, 2))}$.",
            )
        if kind == "rhombus":
            half = base.whole(rng, 2, size / 2)
            c = half + base.whole(rng, 1, size / 2)
            square = c * c - half * half
            return Drawn(
                ask=kind,
                values={"a": 2 * half, "c": c},
                gold=surds.said(surds.times(surds.root(square), 2 * half)),
                steps=f"The diagonals halve each other at right angles, so half of the other one "
                f"has the square ${c}^2 - {half}^2 = {square}$. The area is half of the product of "
                f"the diagonals, which is ${2 * half}\\sqrt{{{square}}}$.",
            )
        part = Fraction(a * h, a + b)
        return Drawn(
            ask=kind,
            values=values,
            gold=gold.rational(a * part / 2),
            steps=f"The triangles on the parallel sides are similar with ratio ${a} : {b}$, so the "
            f"altitude of the first is $\\frac{{{a}}}{{{a + b}}} \\cdot {h} = {ratio_text(part)}$. "
            f"Its area is $\\frac{{1}}{{2}} \\cdot {a} \\cdot {ratio_text(part)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # In coordinates, with areas from determinants.
        a, b, c, h, s = (Fraction(values.get(name, 0)) for name in "abchs")
        zero = Fraction(0)
        if ask == "trapezoid":
            return gold.rational(_area([(zero, zero), (a, zero), (b, h), (zero, h)]))
        if ask == "kite":
            half = b / 2
            return gold.rational(_area([(zero, zero), (a / 3, -half), (a, zero), (a / 3, half)]))
        if ask == "height":
            unit = _area([(zero, zero), (a, zero), (b, Fraction(1)), (zero, Fraction(1))])
            return gold.rational(s / unit)
        if ask == "altitude":
            area = _area([(zero, zero), (a, zero), (a + 1, h), (Fraction(1), h)])
            return gold.rational(area / b)
        if ask == "crossed":
            # The diagonals y = (h/b) x and the one from (a, 0) to (0, h), with b on top from 0.
            y = h * a / (a + b)
            x = b * y / h
            if (x - a) * h != -a * y:
                return None
            return gold.rational(_area([(zero, zero), (a, zero), (x, y)]))
        if ask == "rhombus":  # two triangles, by Heron's formula
            whole = (2 * c + a) * (2 * c - a) * a * a
            return surds.said(surds.times(surds.root(whole), Fraction(1, 2)))
        # The isosceles trapezoid has equal diagonals: Ptolemy gives d^2 = c^2 + ab, and the
        # altitude is what the mean of the parallel sides leaves of d.
        mean = (a + b) / 2
        height = c * c + a * b - mean * mean
        return surds.said(surds.times(surds.root(height), mean)) if height > 0 else None


def _squared(length: Fraction) -> str:
    text = ratio_text(length)
    return f"{text}^2" if length.denominator == 1 else f"({text})^2"


def _area(corners: Sequence[_Place]) -> Fraction:
    total = Fraction(0)
    for place, (x, y) in enumerate(corners):
        u, v = corners[place - 1]
        total += u * y - x * v
    return abs(total) / 2
