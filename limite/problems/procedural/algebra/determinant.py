"""Determinants, also with an unknown entry."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import bracketed, linear
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class Determinant(Family):
    """The determinant of a matrix, or the entry that makes it a given number."""

    name = "determinant"
    tag = "algebra/matrices"
    wordings = Wordings(
        value=(
            "Find the determinant of the matrix $<a:matrix>$.",
            "Compute $\\det <a:matrix>$.",
        ),
        entry=(
            "For which number $t$ is $\\det \\begin{pmatrix} <rows:text> \\end{pmatrix} = "
            "<value>$?",
            "Find the number $t$ for which the matrix $\\begin{pmatrix} <rows:text> "
            "\\end{pmatrix}$ has the determinant $<value>$.",
        ),
    )

    size: Ends = dial(2, 4, "rows and columns", least=2, most=5)
    entry: Ends = dial(5, 9, "largest entry", least=2, most=99)
    unknown: Ends = dial(0, 0.4, "share with an unknown entry", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        largest = base.steady(self.entry, difficulty)
        a = [
            [base.whole(rng, 0, 2 * largest) - int(largest) for _ in range(size)]
            for _ in range(size)
        ]
        if rng.random() < base.steady(self.unknown, difficulty):
            row, column = base.whole(rng, 0, size - 1), base.whole(rng, 0, size - 1)
            slope = _cofactor(a, row, column)
            if slope:
                rest = int(exact.determinant(a)) - slope * a[row][column]
                value = int(exact.determinant(a)) if rng.random() < 0.6 else 0
                return Drawn(
                    ask="entry",
                    values={"rows": _rows(a, row, column), "value": value},
                    gold=gold.rational(Fraction(value - rest, slope)),
                    steps=f"The determinant is linear in $t$. With $t = 0$ it is ${rest}$, and "
                    f"the cofactor of $t$ is ${slope}$, so ${linear([slope], 't', rest)} = "
                    f"{value}$ and ${linear([slope], 't')} = {value - rest}$.",
                )
        determinant = int(exact.determinant(a))
        return Drawn(
            ask="value",
            values={"a": a},
            gold=gold.integer(determinant),
            steps=_steps(a),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By elimination in whole numbers.
        if ask == "value":
            return gold.integer(_eliminated(values["a"]))
        at = []
        for t in (0, 1):
            text = values["rows"].replace("t", str(t))
            at.append(
                _eliminated(
                    [[int(each) for each in row.split(" & ")] for row in text.split(" \\\\ ")]
                )
            )
        if at[0] == at[1]:
            return None
        return gold.rational(Fraction(values["value"] - at[0], at[1] - at[0]))


def _cofactor(a: Sequence[Sequence[int]], row: int, column: int) -> int:
    minor = [
        [entry for place, entry in enumerate(each) if place != column]
        for place, each in enumerate(a)
        if place != row
    ]
    found = int(exact.determinant(minor))
    return -found if (row + column) % 2 else found


def _eliminated(rows: Sequence[Sequence[Any]]) -> int:
    """By Bareiss: every division is exact."""
    table = [[int(entry) for entry in row] for row in rows]
    sign, before = 1, 1
    for place in range(len(table) - 1):
        pivot = next((row for row in range(place, len(table)) if table[row][place]), None)
        if pivot is None:
            return 0
        if pivot != place:
            table[place], table[pivot] = table[pivot], table[place]
            sign = -sign
        over = table[place][place]
        for row in range(place + 1, len(table)):
            under = table[row][place]
            table[row] = [
                (over * entry - under * other) // before
                for entry, other in zip(table[row], table[place], strict=True)
            ]
        before = over
    return sign * table[-1][-1]


def _rows(a: Sequence[Sequence[int]], row: int, column: int) -> str:
    """The entries with t in one place."""
    return " \\\\ ".join(
        " & ".join(
            "t" if (place, other) == (row, column) else str(entry)
            for other, entry in enumerate(each)
        )
        for place, each in enumerate(a)
    )


def _steps(a: Sequence[Sequence[int]]) -> str:
    if len(a) == 2:
        (p, q), (r, s) = a
        return (
            f"The determinant is ${p} \\cdot {bracketed(s)} - {bracketed(q)} \\cdot "
            f"{bracketed(r)} = {p * s} - {bracketed(q * r)}$."
        )
    cofactors = [_cofactor(a, 0, column) for column in range(len(a))]
    products = " + ".join(
        f"{bracketed(x) if place else x} \\cdot {bracketed(y)}"
        for place, (x, y) in enumerate(zip(a[0], cofactors, strict=True))
    )
    return (
        f"The cofactors of the first row are {', '.join(f'${each}$' for each in cofactors)}. "
        f"Expanding along this row gives ${products}$."
    )
