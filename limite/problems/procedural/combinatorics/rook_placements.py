"""Rooks that do not attack each other, on a board with forbidden squares."""

from __future__ import annotations

import itertools
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

_FORBIDDEN = (
    "The squares at these places (row, column) must stay empty: $<squares:text>$. Rooks attack "
    "along rows and columns, also across such squares."
)


@attrs.frozen(kw_only=True)
class RookPlacements(Family):
    """How many ways rooks can stand on a board without attacking each other."""

    name = "rook-placements"
    tag = "combinatorics/permutations"
    wordings = Wordings(
        free=(
            "In how many ways can $<rooks>$ identical rooks be placed on a board with $<rows>$ "
            "rows and $<columns>$ columns so that no two stand in the same row or column?",
            "A table has $<rows>$ rows and $<columns>$ columns. In how many ways can $<rooks>$ of "
            "its cells be marked so that no two marked cells share a row or a column?",
        ),
        forbidden=(
            "In how many ways can $<rooks>$ identical rooks be placed on a board with $<rows>$ "
            f"rows and $<columns>$ columns so that no two attack each other? {_FORBIDDEN}",
            "A table has $<rows>$ rows and $<columns>$ columns. In how many ways can $<rooks>$ of "
            "its cells be marked so that no two marked cells share a row or a column, and none of "
            "these cells, given as (row, column), is marked: $<squares:text>$?",
        ),
    )

    side: Ends = dial(4, 6, "largest side of the board", least=3, most=8)
    forbidden: Ends = dial(0, 5, "how many squares are forbidden", least=0, most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        side = base.steady(self.side, difficulty)
        rows = base.whole(rng, max(2, int(side) - 2), side)
        columns = base.whole(rng, max(3, int(side) - 2), side)
        rooks = base.whole(rng, 2, min(rows, columns))
        count = base.whole_near(rng, base.steady(self.forbidden, difficulty))
        count = min(max(count, 2) if count else 0, rows)
        places = base.distinct(rng, count, 0, rows * columns - 1)
        squares = [(place // columns + 1, place % columns + 1) for place in places]
        placed = [_placed(squares, size) for size in range(min(count, rooks) + 1)]
        while placed and placed[-1] == 0:
            placed.pop()
        terms = [
            (-1) ** size * ways * _free(rows - size, columns - size, rooks - size)
            for size, ways in enumerate(placed)
        ]
        values = {"rows": rows, "columns": columns, "rooks": rooks}
        steps = (
            f"Choose ${rooks}$ rows and ${rooks}$ columns and match them: "
            f"$\\binom{{{rows}}}{{{rooks}}} \\cdot \\binom{{{columns}}}{{{rooks}}} \\cdot {rooks}! "
            f"= {math.comb(rows, rooks)} \\cdot {math.comb(columns, rooks)} \\cdot "
            f"{math.factorial(rooks)} = {terms[0]}$."
        )
        if not count or sum(terms) == 0:
            return Drawn(ask="free", values=values, gold=gold.integer(terms[0]), steps=steps)
        return Drawn(
            ask="forbidden",
            values={**values, "squares": ", ".join(f"({row}, {at})" for row, at in squares)},
            gold=gold.integer(sum(terms)),
            steps=f"First leave the forbidden squares aside. {steps} Now count placements with "
            f"some of the rooks on chosen forbidden squares: $0, 1, 2, \\dots$ rooks that do not "
            f"attack each other fit there in ${', '.join(map(str, placed))}$ ways, and the others "
            f"stand in the rows and columns that are left. By inclusion and exclusion: "
            f"${alternating(terms)} = {sum(terms)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Row after row: ways for each set of columns that are taken.
        columns, rooks = values["columns"], values["rooks"]
        squares = (
            {(int(row), int(at)) for row, at in re.findall(r"\((\d+), (\d+)\)", values["squares"])}
            if ask == "forbidden"
            else set()
        )
        ways = [0] * (1 << columns)
        ways[0] = 1
        for row in range(1, values["rows"] + 1):
            bits = [1 << at for at in range(columns) if (row, at + 1) not in squares]
            for taken in range((1 << columns) - 1, -1, -1):
                count = ways[taken]
                if count:
                    for bit in bits:
                        if not taken & bit:
                            ways[taken | bit] += count
        return gold.integer(
            sum(count for taken, count in enumerate(ways) if taken.bit_count() == rooks)
        )


def _free(rows: int, columns: int, rooks: int) -> int:
    return math.comb(rows, rooks) * math.comb(columns, rooks) * math.factorial(rooks)


def _placed(squares: list[tuple[int, int]], size: int) -> int:
    """How many ways there are to choose ``size`` of the squares, no two in one line."""
    return sum(
        len({row for row, _ in some}) == size == len({at for _, at in some})
        for some in itertools.combinations(squares, size)
    )
