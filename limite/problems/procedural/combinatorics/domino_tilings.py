"""Tilings of strips and of boards with two rows."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_ASKS = (*["strip"] * 3, *["holes"] * 3, "two", "three", "squares")
_COUNTED = "Turned or mirrored tilings count as different."


@attrs.frozen(kw_only=True)
class DominoTilings(Family):
    """How many ways a strip or a board can be covered with tiles."""

    name = "domino-tilings"
    tag = "combinatorics/tilings"
    wordings = Wordings(
        strip=(
            "A strip of length $<length>$ is covered with tiles of length $<short>$ in $<shorts>$ "
            "colours and tiles of length $<long>$ in $<longs>$ colours, laid end to end. In how "
            f"many ways can this be done? {_COUNTED}",
            "A wall of length $<length>$ is built of blocks in one row: blocks of length $<short>$ "
            "come in $<shorts>$ colours and blocks of length $<long>$ in $<longs>$. How many "
            f"different rows of blocks are possible? {_COUNTED}",
        ),
        two=(
            "In how many ways can a board with $2$ rows and $<length>$ columns be covered with "
            f"dominoes, each covering two squares with a common side? {_COUNTED}",
        ),
        three=(
            "In how many ways can a board with $3$ rows and $<length>$ columns be covered with "
            f"dominoes, each covering two squares with a common side? {_COUNTED}",
        ),
        squares=(
            "In how many ways can a board with $2$ rows and $<length>$ columns be covered with "
            "dominoes, each covering two squares with a common side, and square tiles that cover "
            f"$2$ by $2$ squares? {_COUNTED}",
        ),
        holes=(
            "From a board with $2$ rows and $<length>$ columns, the squares at <holes:text> "
            "(row, column) are cut out. In how many ways can the rest be covered with dominoes, "
            f"each covering two squares with a common side? {_COUNTED}",
        ),
    )

    length: Ends = dial(4, 12, "largest length", least=4, most=30)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.length, difficulty)
        length = base.whole(rng, max(4, int(most) - 5), most)
        ask = base.chosen(rng, _ASKS)
        values: dict[str, Any] = {"length": length}
        if ask == "strip":
            short = base.whole(rng, 1, 2)
            long = base.whole(rng, short + 1, 4)
            shorts, longs = base.whole(rng, 2, 3 + difficulty), base.whole(rng, 2, 4 + difficulty)
            values |= {"short": short, "long": long, "shorts": shorts, "longs": longs}
            ways = [1]
            for each in range(1, length + 1):
                ways.append(
                    (shorts * ways[each - short] if each >= short else 0)
                    + (longs * ways[each - long] if each >= long else 0)
                )
            steps = (
                f"Let $f(n)$ be the number for length $n$. By the last tile, $f(n) = {shorts} "
                f"f(n - {short}) + {longs} f(n - {long})$, with $f(0) = 1$ and $f(n) = 0$ for "
                f"negative $n$. So $f(1), \\dots, f({length})$ are "
                f"${', '.join(map(str, ways[1:]))}$."
            )
            if ways[-1] > 0:
                return Drawn(ask=ask, values=values, gold=gold.integer(ways[-1]), steps=steps)
            ask, values = "two", {"length": length}
        if ask == "holes":
            return _with_holes(rng, length)
        if ask == "three":
            half = max(2, length // 2)
            ways = [1, 3]
            while len(ways) <= half:
                ways.append(4 * ways[-1] - ways[-2])
            return Drawn(
                ask=ask,
                values={"length": 2 * half},
                gold=gold.integer(ways[-1]),
                steps=f"Let $f(n)$ be the number for $n$ columns, $n$ even. The part up to the "
                f"first upright cut that crosses no domino has $2$ columns in $3$ ways, or $4, 6, "
                f"8, \\dots$ columns in $2$ ways each. So $f(n) = 3f(n - 2) + 2f(n - 4) + 2f(n - 6)"
                f" + \\dots$, and taking away the same for $n - 2$, $f(n) = 4f(n - 2) - f(n - 4)$. "
                f"With $f(0) = 1$ and $f(2) = 3$, the numbers for $2, 4, \\dots$ columns "
                f"are ${', '.join(map(str, ways[1:]))}$, the last for ${2 * half}$.",
            )
        twice = 2 if ask == "squares" else 1
        ways = [1, 1]
        while len(ways) <= length:
            ways.append(ways[-1] + twice * ways[-2])
        last = (
            "two lying dominoes or one square tile cover the last two"
            if ask == "squares"
            else "two lying dominoes cover the last two"
        )
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.integer(ways[-1]),
            steps=f"Let $f(n)$ be the number for $n$ columns. Either a standing domino covers the "
            f"last column, or {last}: $f(n) = f(n - 1) + {'' if twice == 1 else '2'}f(n - 2)$. So "
            f"$f(1), \\dots, f({length})$ are ${', '.join(map(str, ways[1:]))}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        length = values["length"]
        if ask == "strip":
            # By how many long tiles there are, and in which of the places.
            total, many = 0, 0
            while many * values["long"] <= length:
                few, rest = divmod(length - many * values["long"], values["short"])
                if rest == 0:
                    orders = 1
                    for each in range(1, many + 1):
                        orders = orders * (few + each) // each
                    total += orders * values["longs"] ** many * values["shorts"] ** few
                many += 1
            return gold.integer(total)
        rows = 3 if ask == "three" else 2
        holes = {
            (int(column) - 1) * rows + int(row) - 1
            for row, column in re.findall(r"\((\d+), (\d+)\)", values.get("holes", ""))
        }
        # Square after square, column by column: which of the next squares are covered already.
        ways = {0: 1}
        for place in range(rows * length):
            after: dict[int, int] = {}
            below = place % rows < rows - 1
            for covered, count in ways.items():
                taken, rest = covered & 1, covered >> 1
                if place in holes:
                    if not taken:
                        after[rest] = after.get(rest, 0) + count
                    continue
                if taken:
                    after[rest] = after.get(rest, 0) + count
                    continue
                if below and not rest & 1:
                    after[rest | 1] = after.get(rest | 1, 0) + count
                beside = rest | 1 << (rows - 1)
                after[beside] = after.get(beside, 0) + count
                if ask == "squares" and below and not rest & 1:
                    # A square tile lies over this square, the one below and both beside them.
                    grown = rest | 1 | 1 << (rows - 1) | 1 << rows
                    after[grown] = after.get(grown, 0) + count
            ways = after
        return gold.integer(ways.get(0, 0))


def _with_holes(rng: random.Random, length: int) -> Drawn:
    """Two squares of opposite colours cut out of different columns."""
    first = base.whole(rng, 1, length - 1)
    second = base.whole(rng, first + 1, length)
    row = base.whole(rng, 1, 2)
    # On a chessboard the two must have different colours.
    other = row if (second - first) % 2 else 3 - row
    ways = [1, 1]
    while len(ways) < length + 1:
        ways.append(ways[-1] + ways[-2])
    left, right = ways[first - 1], ways[length - second]
    holes = base.shuffled(rng, [f"$({row}, {first})$", f"$({other}, {second})$"])
    return Drawn(
        ask="holes",
        values={"length": length, "holes": " and ".join(holes)},
        gold=gold.integer(left * right),
        steps=f"The part to the left of column ${first}$ is covered for itself, as a domino that "
        f"reaches into that column would leave an odd number of squares, and so is the part to "
        f"the right of column ${second}$. The numbers of their columns are ${first - 1}$ and "
        f"${length - second}$. "
        f"Between the cuts, from column ${first}$ to ${second}$, one domino forces the next, which "
        f"works out in one way. Boards with $2$ rows and $0, 1, 2, \\dots$ columns have "
        f"${', '.join(map(str, ways[: max(first, length - second + 1)]))}, \\dots$ coverings, so "
        f"there are ${left} \\cdot {right} = {left * right}$.",
    )
