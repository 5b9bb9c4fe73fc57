"""Shortest paths on a grid, through points and around points."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.combinatorics.counting import alternating
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_STEPS = "each step going one unit to the right or one unit up"


@attrs.frozen(kw_only=True)
class LatticePaths(Family):
    """How many shortest paths on a grid there are, through a point or around blocked points."""

    name = "lattice-paths"
    tag = "combinatorics/lattice-paths"
    wordings = Wordings(
        words={"who": ("beetle", "robot", "taxi", "snail")},
        free=(
            f"How many paths lead from $(0, 0)$ to $(<right>, <up>)$, {_STEPS}?",
            "A <who> moves on the integer points of the plane, one unit to the right or one unit "
            "up at a time. In how many ways can it go from $(0, 0)$ to $(<right>, <up>)$?",
        ),
        through=(
            f"How many paths lead from $(0, 0)$ to $(<right>, <up>)$ through the point "
            f"$<points:text>$, {_STEPS}?",
            "A <who> moves on the integer points of the plane, one unit to the right or one unit "
            "up at a time. In how many ways can it go from $(0, 0)$ to $(<right>, <up>)$ if it "
            "must visit $<points:text>$?",
        ),
        around=(
            f"How many paths lead from $(0, 0)$ to $(<right>, <up>)$, {_STEPS}, without visiting "
            "any of these points: $<points:text>$?",
            "A <who> moves on the integer points of the plane, one unit to the right or one unit "
            "up at a time. These points are blocked: $<points:text>$. In how many ways can it go "
            "from $(0, 0)$ to $(<right>, <up>)$?",
        ),
    )

    side: Ends = dial(4, 9, "largest side of the grid", least=3, most=20)
    blocked: Ends = dial(0, 4, "how many points are blocked", least=0, most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        side = base.steady(self.side, difficulty)
        right = base.whole(rng, max(2, int(side) - 4), side)
        up = base.whole(rng, max(2, int(side) - 4), side)
        count = base.whole_near(rng, base.steady(self.blocked, difficulty))
        count = min(max(count, 2) if count else 0, (right + 1) * (up + 1) // 4)
        values = {"right": right, "up": up}
        total = math.comb(right + up, up)
        size = f"\\binom{{{right + up}}}{{{up}}} = {total}"
        if count == 0:
            if rng.random() >= 0.4:
                return Drawn(
                    ask="free",
                    values=values,
                    gold=gold.integer(total),
                    steps=f"A path has ${right + up}$ steps, and ${up}$ of them go up: ${size}$ "
                    "ways to choose which.",
                )
            x, y = base.whole(rng, 1, right - 1), base.whole(rng, 1, up - 1)
            first, second = math.comb(x + y, y), math.comb(right + up - x - y, up - y)
            return Drawn(
                ask="through",
                values={**values, "points": f"({x}, {y})"},
                gold=gold.integer(first * second),
                steps=f"To the point there are $\\binom{{{x + y}}}{{{y}}} = {first}$ paths, and "
                f"from it on $\\binom{{{right + up - x - y}}}{{{up - y}}} = {second}$. "
                f"Together ${first} \\cdot {second} = {first * second}$.",
            )
        points = _inner(rng, right, up, count)
        for _ in range(5):
            if _clean(right, up, points)[-1]:
                break
            points = _inner(rng, right, up, count)
        while not _clean(right, up, points)[-1]:
            points.pop()
        clean, lines = _clean(right, up, points), []
        for (x, y), ways in zip([*points, (right, up)], clean, strict=True):
            terms = _terms(x, y, points, clean)
            made = f"{alternating(terms)} = {ways}" if len(terms) > 1 else str(ways)
            lines.append(f"to $({x}, {y})$: ${made}$")
        return Drawn(
            ask="around",
            values={
                **values,
                "points": ", ".join(f"({x}, {y})" for x, y in base.shuffled(rng, points)),
            },
            gold=gold.integer(clean[-1]),
            steps="For each blocked point, and then for the end, count the paths to it that meet "
            "no blocked point before: from all paths take away, for each earlier blocked point, "
            f"its number times the paths from there on; {'; '.join(lines)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        right, up = values["right"], values["up"]
        points = {
            (int(x), int(y)) for x, y in re.findall(r"\((\d+), (\d+)\)", values.get("points", ""))
        }
        if ask == "free":
            points = set()
        # Row by row, from the left and from below. Who passes through a point avoids all that lie
        # neither before nor behind it.
        column = [1] + [0] * right
        for y in range(up + 1):
            for x in range(right + 1):
                ways = column[x] + (column[x - 1] if x else 0)
                if ask == "around":
                    closed = (x, y) in points
                else:
                    closed = any((x - px) * (y - py) < 0 for px, py in points)
                column[x] = 0 if closed else ways
        return gold.integer(column[right])


def _inner(rng: random.Random, right: int, up: int, count: int) -> list[tuple[int, int]]:
    """Points of the grid without its first and last, in the order in which paths meet them."""
    places = base.distinct(rng, count, 1, (right + 1) * (up + 1) - 2)
    return sorted((place % (right + 1), place // (right + 1)) for place in places)


def _terms(x: int, y: int, points: list[tuple[int, int]], clean: list[int]) -> list[int]:
    """All paths to a point, then what each blocked point before it takes away."""
    return [math.comb(x + y, y)] + [
        -ways * math.comb(x + y - left - low, y - low)
        for (left, low), ways in zip(points, clean, strict=False)
        if left <= x and low <= y and (left, low) != (x, y)
    ]


def _clean(right: int, up: int, points: list[tuple[int, int]]) -> list[int]:
    """Paths to each point, and to the end, that meet none of the points before."""
    clean: list[int] = []
    for x, y in [*points, (right, up)]:
        clean.append(sum(_terms(x, y, points, clean)))
    return clean
