"""Figures in grids and between points."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_GRID = "A grid has $<rows>$ rows and $<columns>$ columns of unit squares."


@attrs.frozen(kw_only=True)
class CountingFigures(Family):
    """How many rectangles, squares or triangles there are in a grid or between points."""

    name = "counting-figures"
    tag = "combinatorics/figures"
    wordings = Wordings(
        rectangles=(
            f"{_GRID} How many rectangles are formed by its lines, squares included?",
            "How many rectangles of any size, squares included, have their sides on the lines of a "
            "grid with $<rows>$ rows and $<columns>$ columns of unit squares?",
        ),
        squares=(
            f"{_GRID} How many squares of any size are formed by its lines?",
            "How many squares of any size have their sides on the lines of a grid with $<rows>$ "
            "rows and $<columns>$ columns of unit squares?",
        ),
        oblong=(f"{_GRID} How many rectangles that are not squares are formed by its lines?",),
        containing=(
            f"{_GRID} How many rectangles formed by its lines, squares included, contain the unit "
            "square in row $<row>$ and column $<column>$?",
        ),
        lines=(
            "$<first>$ points lie on a straight line, and $<second>$ other points on a line "
            "parallel to it. How many triangles have three of these points as corners?",
        ),
        quadrilaterals=(
            "$<first>$ points lie on a straight line, and $<second>$ other points on a line "
            "parallel to it. How many convex quadrilaterals have four of these points as corners?",
        ),
        diagonals=(
            "How many diagonals does a convex polygon with $<first>$ corners have?",
            "$<first>$ towns, no three of them on one line, are the corners of a convex polygon. "
            "How many straight roads must be built to join each pair of towns that are not "
            "neighbours on its border?",
        ),
        crossings=(
            "In a convex polygon with $<first>$ corners, all diagonals are drawn, and no three of "
            "them meet in a point inside. In how many points inside do diagonals cross?",
        ),
    )

    size: Ends = dial(4, 12, "largest number of rows, columns or points", least=4, most=40)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.size, difficulty)
        low = max(2, int(most) - 6)
        rows, columns = base.whole(rng, low, most), base.whole(rng, low, most)
        first, second = base.whole(rng, max(4, low), most + 3), base.whole(rng, max(3, low), most)
        ask = base.rising(
            rng,
            (
                "diagonals",
                "lines",
                "rectangles",
                "squares",
                "containing",
                "quadrilaterals",
                "oblong",
                "crossings",
            ),
            difficulty,
        )
        grid = {"rows": rows, "columns": columns}
        across, down = math.comb(columns + 1, 2), math.comb(rows + 1, 2)
        sides = range(1, min(rows, columns) + 1)
        squares = [(rows + 1 - side) * (columns + 1 - side) for side in sides]
        lines = (
            f"A rectangle is given by two of the ${rows + 1}$ lines across and two of the "
            f"${columns + 1}$ lines down: $\\binom{{{rows + 1}}}{{2}} \\cdot "
            f"\\binom{{{columns + 1}}}{{2}} = {down} \\cdot {across}"
        )
        by_side = (
            f"Squares of side $s$ have ${rows + 1} - s$ places down and ${columns + 1} - s$ "
            "across. "
            f"For $s = 1$ to ${sides[-1]}$ that is ${' + '.join(map(str, squares))}"
        )
        if ask == "rectangles":
            return _drawn(ask, grid, across * down, f"{lines}$.")
        if ask == "squares":
            return _drawn(ask, grid, sum(squares), f"{by_side}$.")
        if ask == "oblong":
            found = across * down - sum(squares)
            return _drawn(
                ask,
                grid,
                found,
                f"{lines} = {across * down}$. {by_side} = {sum(squares)}$. The others: "
                f"${across * down} - {sum(squares)}$.",
            )
        if ask == "containing":
            row, column = base.whole(rng, 1, rows), base.whole(rng, 1, columns)
            above, left = row * (rows + 1 - row), column * (columns + 1 - column)
            return _drawn(
                ask,
                {**grid, "row": row, "column": column},
                above * left,
                f"The numbers of lines to choose from are ${row}$ for the upper side, "
                f"${rows + 1 - row}$ for the lower one, ${column}$ for the left one and "
                f"${columns + 1 - column}$ for the right one: ${row} \\cdot {rows + 1 - row} "
                f"\\cdot {column} \\cdot {columns + 1 - column}$.",
            )
        values = {"first": first, "second": second}
        if ask == "lines":
            one, other = math.comb(first, 2) * second, math.comb(second, 2) * first
            return _drawn(
                ask,
                values,
                one + other,
                f"Two corners lie on one line and the third on the other: $\\binom{{{first}}}{{2}} "
                f"\\cdot {second} + \\binom{{{second}}}{{2}} \\cdot {first} = {one} + {other}$.",
            )
        if ask == "quadrilaterals":
            one, other = math.comb(first, 2), math.comb(second, 2)
            return _drawn(
                ask,
                values,
                one * other,
                f"Two corners lie on each line, since three on one line are no corners, and any "
                f"such four form one: $\\binom{{{first}}}{{2}} \\cdot \\binom{{{second}}}{{2}} = "
                f"{one} \\cdot {other}$.",
            )
        if ask == "diagonals":
            return _drawn(
                ask,
                values,
                first * (first - 3) // 2,
                f"From each of the ${first}$ corners lines go to ${first} - 3 = {first - 3}$ "
                f"corners that are not neighbours, and each line is counted from both its ends: "
                f"${first} \\cdot {first - 3} : 2$.",
            )
        return _drawn(
            ask,
            values,
            math.comb(first, 4),
            f"Any four corners are the ends of exactly one pair of diagonals that cross, and each "
            f"crossing comes from four corners: $\\binom{{{first}}}{{4}}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By counting one by one: by sizes and places in the grid, by pairs of points.
        if ask in ("rectangles", "squares", "oblong"):
            rows, columns = values["rows"], values["columns"]
            total = 0
            for high in range(1, rows + 1):
                for wide in range(1, columns + 1):
                    if ask == "rectangles" or (high == wide) == (ask == "squares"):
                        total += (rows - high + 1) * (columns - wide + 1)
            return gold.integer(total)
        if ask == "containing":
            sides = []
            for at, size in (("row", "rows"), ("column", "columns")):
                sides.append(
                    sum(
                        low <= values[at] <= high
                        for low in range(1, values[size] + 1)
                        for high in range(low, values[size] + 1)
                    )
                )
            return gold.integer(sides[0] * sides[1])
        first, second = values["first"], values.get("second", 0)
        if ask == "diagonals":
            return gold.integer(
                sum(1 < b - a < first - 1 for a in range(first) for b in range(a, first))
            )
        if ask == "crossings":  # by diagonals from the first corner of each four
            return gold.integer(
                sum(
                    (middle - start - 1) * (first - 1 - middle)
                    for start in range(first)
                    for middle in range(start + 2, first - 1)
                )
            )
        if ask == "lines":  # all threes less those on one line
            return gold.integer(_threes(first + second) - _threes(first) - _threes(second))
        pairs = [sum(range(points)) for points in (first, second)]
        return gold.integer(pairs[0] * pairs[1])


def _drawn(ask: str, values: Mapping[str, Any], found: int, steps: str) -> Drawn:
    return Drawn(ask=ask, values=values, gold=gold.integer(found), steps=steps)


def _threes(points: int) -> int:
    """Threes of points, by the middle one."""
    return sum(middle * (points - 1 - middle) for middle in range(points))
