"""Unknown prices or counts from what was bought together."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import linear
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class Prices(Family):
    """What each thing costs, or how many were sold, from several totals."""

    name = "prices"
    tag = "algebra/word-problems"
    wordings = Wordings(
        words={
            "pens": ("pens", "pencils", "brushes", "markers"),
            "books": ("notebooks", "folders", "maps", "calendars"),
            "cups": ("cups", "plates", "bowls", "candles"),
            "event": ("a concert", "a play", "a film", "a match"),
        },
        tickets=(
            "For <event>, <count> tickets are sold. A full ticket costs <full> crowns and a "
            "reduced ticket <reduced> crowns, and <total> crowns are taken in all. How many full "
            "tickets are sold?",
            "Tickets for <event> cost <full> crowns, or <reduced> crowns for children. <count> "
            "people pay <total> crowns together. How many of them pay the full price?",
        ),
        two=(
            "<a> <pens> and <b> <books> cost <first> crowns together, while <c> <pens> and <d> "
            "<books> cost <second> crowns. All <pens> have one price, and all <books> have one "
            "price. Give the price in crowns of one of the <pens> and of one of the <books> as a "
            "pair, in this order.",
            "A shop asks <first> crowns for <a> <pens> and <b> <books>, and <second> crowns for "
            "<c> <pens> and <d> <books>, with one price for all <pens> and one for all <books>. "
            "Find the pair of both prices in crowns, that of the <pens> first.",
        ),
        three=(
            "One day a shop sells <a> <pens>, <b> <books> and <c> <cups> for <first> crowns, the "
            "next day <d> <pens>, <e> <books> and <f> <cups> for <second> crowns, and then <g> "
            "<pens>, <h> <books> and <i> <cups> for <third> crowns. Each kind has one price. Give "
            "the prices in crowns of one each of the <pens>, <books> and <cups>, in this order, as "
            "a tuple.",
            "<a> <pens>, <b> <books> and <c> <cups> cost <first> crowns; <d> <pens>, <e> <books> "
            "and <f> <cups> cost <second> crowns; <g> <pens>, <h> <books> and <i> <cups> cost "
            "<third> crowns. Each kind has one price. Find the tuple of the prices in crowns, "
            "first of the <pens>, then of the <books>, then of the <cups>.",
        ),
    )

    kinds: Ends = dial(1.5, 3, "how many unknown prices", least=1, most=3)
    price: Ends = dial(9, 30, "largest price", least=5, most=200)
    bought: Ends = dial(4, 9, "how many of a kind are bought at most", least=3, most=50)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        kinds = base.whole_near(rng, base.steady(self.kinds, difficulty))
        highest, most = base.steady(self.price, difficulty), base.steady(self.bought, difficulty)
        if kinds == 1:
            return _tickets(rng, highest, most)
        prices = [base.whole(rng, 2, highest) for _ in range(kinds)]
        rows = [[base.whole(rng, 2, most) for _ in range(kinds)] for _ in range(kinds)]
        for row in range(1, kinds):
            while not exact.determinant([each[: row + 1] for each in rows[: row + 1]]):
                rows[row][row] += 1  # at most once: the determinant is linear in this entry
        totals = [sum(n * x for n, x in zip(row, prices, strict=True)) for row in rows]
        counts = dict(zip("abcdefghi", (n for row in rows for n in row), strict=False))
        named = dict(zip(("first", "second", "third"), totals, strict=False))
        return Drawn(
            ask="two" if kinds == 2 else "three",
            values={**counts, **named},
            gold=gold.ordered(prices),
            steps=_steps(rows, totals, prices),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Every count, or the last prices, are tried.
        if ask == "tickets":
            count, full, reduced = values["count"], values["full"], values["reduced"]
            found = [
                n for n in range(count + 1) if n * full + (count - n) * reduced == values["total"]
            ]
            return gold.integer(found[0]) if len(found) == 1 else None
        names = "abcd" if ask == "two" else "abcdefghi"
        size = 2 if ask == "two" else 3
        flat = [values[name] for name in names]
        rows = [flat[size * row : size * row + size] for row in range(size)]
        totals = [values[name] for name in ("first", "second", "third")[:size]]
        if not exact.determinant(rows):
            return None
        if size == 2:
            for second in range(totals[0] // rows[0][1] + 1):
                first, rest = divmod(totals[0] - rows[0][1] * second, rows[0][0])
                if not rest and rows[1][0] * first + rows[1][1] * second == totals[1]:
                    return gold.ordered([first, second])
            return None
        for third in range(min(t // row[2] for t, row in zip(totals, rows, strict=True)) + 1):
            # Two prices are left: by Cramer's rule from two totals, tried in the third.
            left = [t - row[2] * third for t, row in zip(totals, rows, strict=True)]
            for i, j in ((0, 1), (0, 2), (1, 2)):
                below = rows[i][0] * rows[j][1] - rows[i][1] * rows[j][0]
                if below:
                    break
            else:
                return None
            first, rest = divmod(left[i] * rows[j][1] - left[j] * rows[i][1], below)
            second, more = divmod(rows[i][0] * left[j] - rows[j][0] * left[i], below)
            if rest or more:
                continue
            if all(
                row[0] * first + row[1] * second == t for row, t in zip(rows, left, strict=True)
            ):
                return gold.ordered([first, second, third])
        return None


def _tickets(rng: random.Random, highest: float, most: float) -> Drawn:
    reduced = base.whole(rng, 2, highest)
    full = reduced + base.whole(rng, 1, highest)
    sold, other = base.whole(rng, 2, 10 * most), base.whole(rng, 2, 10 * most)
    count, total = sold + other, sold * full + other * reduced
    gap = full - reduced
    return Drawn(
        ask="tickets",
        values={"count": count, "full": full, "reduced": reduced, "total": total},
        gold=gold.integer(sold),
        steps=f"If all {count} were reduced, ${count} \\cdot {reduced} = {count * reduced}$ crowns "
        f"would be taken, which is ${total} - {count * reduced} = {total - count * reduced}$ too "
        f"little. Each full ticket adds ${full} - {reduced} = {gap}$"
        + (f", so there are ${total - count * reduced} \\div {gap}$." if gap > 1 else "."),
    )


def _steps(rows: Sequence[Sequence[int]], totals: Sequence[int], prices: Sequence[int]) -> str:
    letters = "xyz"[: len(rows)]
    shown = ", ".join(
        f"${linear(row, letters)} = {total}$" for row, total in zip(rows, totals, strict=True)
    )
    text = f"With the prices ${'$, $'.join(letters)}$ the totals are {shown}. "
    left = [[*row, total] for row, total in zip(rows, totals, strict=True)]
    for place, letter in enumerate(letters[:-1]):
        pivot = next(row for row in left if row[place])
        left.remove(pivot)
        left = [
            [pivot[place] * x - row[place] * y for x, y in zip(row, pivot, strict=True)]
            for row in left
        ]
        lines = ", ".join(f"${linear(row[:-1], letters)} = {row[-1]}$" for row in left)
        text += f"Eliminating ${letter}$ leaves {lines}. "
    back = [f"${letter} = {price}$" for letter, price in zip(letters, prices, strict=True)]
    return text + f"Going back from there, {', '.join(reversed(back))}."
