"""Areas of polygons from the coordinates of their corners."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PolygonArea(Family):
    """The area of a polygon whose corners have whole coordinates."""

    name = "polygon-area"
    tag = "geometry/area"
    wordings = Wordings(
        "A polygon has the corners $<corners:text>$, in this order. Find its area.",
        "Find the area of the polygon whose vertices, going around it, are $<corners:text>$.",
        "On a map with a grid of kilometres a field has its corners, in order, at "
        "$<corners:text>$. What is its area in square kilometres?",
    )

    corners: Ends = dial(3, 8, "how many corners", least=3, most=30)
    size: Ends = dial(6, 14, "largest distance of a corner from its middle line", least=4, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.corners, difficulty))
        corners = points.simple_polygon(rng, count, round(base.steady(self.size, difficulty)))
        products = [
            (x, v, u, y) for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1], strict=True)
        ]
        twice = sum(x * v - u * y for x, v, u, y in products)
        area = Fraction(abs(twice), 2)
        sizes = ", ".join(str(x * v - u * y) for x, v, u, y in products)
        x, v, u, y = products[0]
        first = " - ".join(
            f"{points.factor(left)} \\cdot {points.factor(right)}"
            for left, right in ((x, v), (u, y))
        )
        return Drawn(
            values={"corners": points.listed(corners)},
            gold=gold.rational(area),
            steps=f"For each side from $(x, y)$ to $(u, v)$ take $xv - uy$, beginning with "
            f"${first} = {x * v - u * y}$. All of them are ${sizes}$. Their sum is ${twice}$, and "
            f"the area is half of its absolute value.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # In strips of height 1 that end at whole heights: a strip of trapezoids has the area of
        # its width halfway up.
        corners = points.read(values["corners"])
        sides = list(zip(corners, corners[1:] + corners[:1], strict=True))
        heights = [y for _, y in corners]
        area = Fraction(0)
        for height in range(min(heights), max(heights)):
            crossed = []
            for (x, y), (u, v) in sides:
                if min(y, v) <= height < max(y, v):
                    crossed.append(x + Fraction((2 * height + 1 - 2 * y) * (u - x), 2 * (v - y)))
            crossed.sort()
            area += sum(crossed[1::2]) - sum(crossed[::2])
        return gold.rational(area) if area else None
