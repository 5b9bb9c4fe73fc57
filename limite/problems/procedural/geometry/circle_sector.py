"""Arcs, sectors and segments of circles with angles that have exact sines."""

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

_ANGLES = (30, 36, 40, 45, 60, 72, 75, 80, 90, 100, 108, 120, 135, 144, 150, 160, 210, 240, 270)
_EXACT: dict[int, tuple[int, Fraction]] = {
    30: (1, Fraction(1, 2)),
    45: (2, Fraction(1, 2)),
    60: (3, Fraction(1, 2)),
    90: (1, Fraction(1)),
    120: (3, Fraction(1, 2)),
    135: (2, Fraction(1, 2)),
    150: (1, Fraction(1, 2)),
}
"""The sine of an angle: the number under the root, and the factor."""


@attrs.frozen(kw_only=True)
class CircleSector(Family):
    """The exact arc, area or perimeter of a sector or a segment of a circle."""

    name = "circle-sector"
    tag = "geometry/circles"
    wordings = Wordings(
        words={"thing": ("cake", "pizza", "cheese")},
        arc=(
            "A circle has radius $<radius>$. Find the exact length of an arc with a central angle "
            "of $<angle>$ degrees.",
            "A clock hand of length $<radius>$ cm turns through an angle of $<angle>$ degrees. "
            "Exactly how long is the path of its tip, in cm?",
        ),
        area=(
            "A sector of a circle of radius $<radius>$ has a central angle of $<angle>$ degrees. "
            "Find its exact area.",
            "From a round <thing> of radius $<radius>$ cm a slice with an angle of $<angle>$ "
            "degrees at the centre is cut. Find the exact area of its top, in square "
            "centimetres.",
        ),
        perimeter=(
            "A sector of a circle of radius $<radius>$ has a central angle of $<angle>$ degrees. "
            "Find its exact perimeter, including both radii.",
            "What is the exact perimeter, with both radii, of a sector of a circle with radius "
            "$<radius>$ and central angle $<angle>$ degrees?",
        ),
        ring=(
            "Two circles have the same centre and the radii $<inner>$ and $<radius>$. An angle of "
            "$<angle>$ degrees at the centre cuts a piece out of the ring between them. Find the "
            "exact area of this piece.",
            "A windscreen wiper turns through $<angle>$ degrees. Its blade reaches from $<inner>$ "
            "cm to $<radius>$ cm from the centre of rotation. Exactly what area does it wipe, in "
            "square centimetres?",
        ),
        segment=(
            "A chord of a circle of radius $<radius>$ belongs to a central angle of $<angle>$ "
            "degrees. Find the exact area of the smaller segment that it cuts off.",
            "In a circle with centre $O$ and radius $<radius>$ the points $A$ and $B$ are chosen "
            "so that the angle $AOB$ measures $<angle>$ degrees. Find the exact area between the "
            "chord $AB$ and the shorter arc $AB$.",
        ),
    )

    radius: Ends = dial(12, 40, "largest radius", least=5, most=10000)
    combined: Ends = dial(0, 0.9, "share made of several parts", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        radius = base.whole(rng, 3, base.steady(self.radius, difficulty))
        angle = base.chosen(rng, _ANGLES)
        share = Fraction(angle, 360)
        values = {"radius": radius, "angle": angle}
        part = f"The angle is $\\frac{{{angle}}}{{360}} = {ratio_text(share)}$ of a full turn"
        arc, area = {surds.PI: 2 * share * radius}, {surds.PI: share * radius * radius}
        if rng.random() >= base.steady(self.combined, difficulty):
            if rng.random() < 0.5:
                steps = f"{part}, and the whole circle is $2\\pi \\cdot {radius}$ long."
                return Drawn(ask="arc", values=values, gold=surds.said(arc), steps=steps)
            steps = f"{part}, and the whole circle has the area $\\pi \\cdot {radius}^2$."
            return Drawn(ask="area", values=values, gold=surds.said(area), steps=steps)
        kind = base.chosen(rng, ("perimeter", "ring", "segment", "segment"))
        if kind == "perimeter":
            return Drawn(
                ask=kind,
                values=values,
                gold=surds.said({**arc, 1: 2 * radius}),
                steps=f"{part}, so the arc is ${surds.latex(arc)}$ long. The two radii add "
                f"$2 \\cdot {radius} = {2 * radius}$.",
            )
        if kind == "ring":
            inner = base.whole(rng, 1, radius - 1)
            squares = radius * radius - inner * inner
            return Drawn(
                ask=kind,
                values={**values, "inner": inner},
                gold=surds.said({surds.PI: share * squares}),
                steps=f"{part}, and the whole ring has the area "
                f"$\\pi({radius}^2 - {inner}^2) = {squares}\\pi$.",
            )
        angle = base.chosen(rng, tuple(_EXACT))
        share = Fraction(angle, 360)
        area = {surds.PI: share * radius * radius}
        under, factor = _EXACT[angle]
        triangle = {under: factor * radius * radius / 2}
        return Drawn(
            ask=kind,
            values={"radius": radius, "angle": angle},
            gold=surds.said(surds.plus(area, surds.times(triangle, -1))),
            steps=f"The sector is ${ratio_text(share)}$ of the circle and has the area "
            f"${surds.latex(area)}$. The triangle of the two radii and the chord has the area "
            f"$\\frac{{1}}{{2}} \\cdot {radius}^2 \\cdot \\sin {angle}^\\circ = "
            f"{surds.latex(triangle)}$. The segment is the sector without the triangle.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From the angle in radians: an arc is the angle times the radius, a sector half of the
        # radius times its arc, and the triangle comes from the chord by halving the angle.
        radius, turn = values["radius"], Fraction(values["angle"], 180)
        arc = {surds.PI: turn * radius}
        if ask == "arc":
            return surds.said(arc)
        if ask == "perimeter":
            return surds.said(surds.plus(arc, {1: radius}, {1: radius}))
        sector = surds.times(arc, Fraction(radius, 2))
        if ask == "area":
            return surds.said(sector)
        if ask == "ring":  # as thick as the difference, as long as the arc halfway
            inner = values["inner"]
            return surds.said({surds.PI: turn * Fraction(inner + radius, 2) * (radius - inner)})
        square = _cosine(values["angle"])
        if square is None:
            return None
        # chord^2 = 2r^2(1 - cos), height^2 = r^2(1 + cos)/2: their product gives the triangle.
        product = Fraction(radius**4) * (1 - square)
        triangle = surds.times(surds.root(product), Fraction(1, 2))
        return surds.said(surds.plus(sector, surds.times(triangle, -1)))


def _cosine(angle: int) -> Fraction | None:
    """The squared cosine of an angle, where its double has a rational cosine."""
    doubled = {60: 1, 120: -1, 180: -2, 240: -1, 300: 1, 90: 0, 270: 0}.get(2 * angle)
    return None if doubled is None else (1 + Fraction(doubled, 2)) / 2
