"""Points with whole coordinates inside polygons."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class LatticePoints(Family):
    """How many points with whole coordinates lie inside a polygon, or on its sides."""

    name = "lattice-points"
    tag = "geometry/lattice-points"
    wordings = Wordings(
        inside=(
            "A polygon has the corners $<corners:text>$, in this order. How many points with "
            "integer coordinates lie strictly inside it?",
            "Going around a polygon, its vertices are $<corners:text>$. Count the lattice points "
            "in its interior, without those on its sides.",
        ),
        sides=(
            "A polygon has the corners $<corners:text>$, in this order. How many points with "
            "integer coordinates lie on its sides, corners included?",
            "Going around a polygon, its vertices are $<corners:text>$. Count the lattice points "
            "on its boundary, vertices included.",
        ),
        closed=(
            "Going around a polygon, its vertices are $<corners:text>$. Count the lattice points "
            "that lie inside it or on its boundary.",
            "A polygon has the corners $<corners:text>$, in this order. How many points with "
            "integer coordinates lie inside it or on its sides?",
        ),
    )

    corners: Ends = dial(3, 6, "how many corners", least=3, most=20)
    size: Ends = dial(4, 12, "largest distance of a corner from its middle line", least=3, most=40)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.corners, difficulty))
        corners = points.simple_polygon(rng, count, round(base.steady(self.size, difficulty)))
        sides = list(zip(corners, corners[1:] + corners[:1], strict=True))
        counts = [math.gcd(u - x, v - y) for (x, y), (u, v) in sides]
        edge = sum(counts)
        on_sides = (
            f"On each side, without its second end, there are as many lattice points as the "
            f"greatest common divisor of its steps in $x$ and $y$: "
            f"${', '.join(map(str, counts))}$. "
            f"So ${edge}$ lie on the boundary"
        )
        values = {"corners": points.listed(corners)}
        draw = rng.random()
        if draw < 0.3:
            return Drawn(ask="sides", values=values, gold=gold.integer(edge), steps=f"{on_sides}.")
        area = Fraction(abs(sum(x * v - u * y for (x, y), (u, v) in sides)), 2)
        inside = int(area - Fraction(edge, 2) + 1)
        pick = (
            f"{on_sides}. The area is ${ratio_text(area)}$. By Pick's theorem ${ratio_text(area)} "
            f"= I + \\frac{{{edge}}}{{2}} - 1$, so $I = {inside}$ lie inside"
        )
        if draw < 0.65:
            return Drawn(ask="inside", values=values, gold=gold.integer(inside), steps=f"{pick}.")
        return Drawn(
            ask="closed",
            values=values,
            gold=gold.integer(inside + edge),
            steps=f"{pick}, and ${inside} + {edge} = {inside + edge}$ together.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Row by row: which whole x lie between the sides that a row crosses, or on them.
        corners = points.read(values["corners"])
        sides = list(zip(corners, corners[1:] + corners[:1], strict=True))
        heights = [y for _, y in corners]
        inside = edge = 0
        for row in range(min(heights), max(heights) + 1):
            crossed: list[int] = []
            on_sides: set[int] = set()
            for (x, y), (u, v) in sides:
                if y == v == row:
                    on_sides.update(range(min(x, u), max(x, u) + 1))
                elif min(y, v) <= row <= max(y, v):
                    above, below = (row - y) * (u - x), v - y
                    if above % below == 0:
                        on_sides.add(x + above // below)
                    if row < max(y, v):
                        # Whole numbers to the right of here begin at this one.
                        crossed.append(x - (-above // below if below > 0 else above // -below))
            crossed.sort()
            row_inside: set[int] = set()
            for begin, end in zip(crossed[::2], crossed[1::2], strict=True):
                row_inside.update(range(begin, end))
            inside += len(row_inside - on_sides)
            edge += len(on_sides)
        return gold.integer({"inside": inside, "sides": edge, "closed": inside + edge}[ask])
