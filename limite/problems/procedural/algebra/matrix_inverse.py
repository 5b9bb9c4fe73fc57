"""Inverses of matrices."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import bracketed
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number
from limite.problems.procedural.wording import Wordings, matrix_text


@attrs.frozen(kw_only=True)
class MatrixInverse(Family):
    """The inverse of a matrix with two or three rows."""

    name = "matrix-inverse"
    tag = "algebra/matrices"
    wordings = Wordings(
        "Find the inverse of the matrix $<a:matrix>$, with exact entries.",
        "Let $A = <a:matrix>$. Compute $A^{-1}$ exactly.",
        "For which matrix $X$ is $<a:matrix>X$ the identity matrix? Give exact entries.",
    )

    size: Ends = dial(2, 3, "rows and columns", least=2, most=3)
    entry: Ends = dial(4, 6, "largest entry", least=2, most=50)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        largest = base.steady(self.entry, difficulty)
        a = [
            [base.whole(rng, 0, 2 * largest) - int(largest) for _ in range(size)]
            for _ in range(size)
        ]
        for _ in range(3):
            if exact.determinant(a):
                break
            for place in range(size):  # at most `size` values of the shift make it singular
                a[place][place] += 1
        else:
            a = [
                [(row == column) * 2 - (row > column) for column in range(size)]
                for row in range(size)
            ]
        determinant = exact.determinant(a)
        adjugate = [[_cofactor(a, column, row) for column in range(size)] for row in range(size)]
        return Drawn(
            values={"a": a},
            gold=gold.matrix(
                [[Fraction(entry) / determinant for entry in row] for row in adjugate]
            ),
            steps=_steps(a, determinant, adjugate),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Column by column, each as the solution of a linear system.
        a = exact.plainly(values["a"])
        size = len(a)
        columns = []
        for place in range(size):
            column = exact.solved(a, [int(row == place) for row in range(size)])
            if column is None:
                return None
            columns.append(column)
        return gold.matrix([list(row) for row in zip(*columns, strict=True)])


def _cofactor(a: list[list[int]], row: int, column: int) -> Number:
    minor = [
        [entry for place, entry in enumerate(each) if place != column]
        for place, each in enumerate(a)
        if place != row
    ]
    found = exact.determinant(minor)
    return -found if (row + column) % 2 else found


def _steps(a: list[list[int]], determinant: Number, adjugate: list[list[Number]]) -> str:
    if len(a) == 2:
        (p, q), (r, s) = a
        how = (
            f"The determinant is ${p} \\cdot {bracketed(s)} - {bracketed(q)} \\cdot "
            f"{bracketed(r)} = {determinant}$. Exchanging the entries on the diagonal and the "
            "signs of the others gives"
        )
    else:
        how = f"The determinant is ${determinant}$. The transposed matrix of cofactors is"
    return f"{how} ${matrix_text(adjugate)}$, which is divided by ${determinant}$."
