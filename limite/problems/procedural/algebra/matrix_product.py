"""Products of matrices."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import bracketed
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number
from limite.problems.procedural.wording import Wordings, matrix_text

Matrix = list[list[int]]


@attrs.frozen(kw_only=True)
class MatrixProduct(Family):
    """The product of two matrices, their commutator, or a polynomial in a matrix."""

    name = "matrix-product"
    tag = "algebra/matrices"
    wordings = Wordings(
        product=(
            "Let $A = <a:matrix>$ and $B = <b:matrix>$. Find the matrix $AB$.",
            "Compute the matrix product $<a:matrix><b:matrix>$.",
        ),
        commutator=(
            "Let $A = <a:matrix>$ and $B = <b:matrix>$. Find the matrix $AB - BA$.",
            "For $A = <a:matrix>$ and $B = <b:matrix>$, what is $AB - BA$?",
        ),
        polynomial=(
            "Let $A = <a:matrix>$, and let $I$ be the identity matrix. Find the matrix $A^2 "
            "<sign:text> <factor>A + <constant>I$.",
            "For $A = <a:matrix>$ and the identity matrix $I$ of the same size, compute $A^2 "
            "<sign:text> <factor>A + <constant>I$.",
        ),
    )

    size: Ends = dial(2, 3, "rows and columns of the matrices", least=2, most=5)
    entry: Ends = dial(4, 9, "largest entry", least=2, most=99)
    harder: Ends = dial(0, 0.7, "share that asks for more than one product", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        largest = base.steady(self.entry, difficulty)
        a = _matrix(rng, size, size, largest)
        if rng.random() >= base.steady(self.harder, difficulty):
            columns = size if rng.random() < 0.6 else 1 + (size + 1) % 3
            b = _matrix(rng, size, columns, largest)
            product = _rows_times_columns(a, b)
            return Drawn(
                ask="product",
                values={"a": a, "b": b},
                gold=gold.matrix(product),
                steps="Each entry is a row of the first matrix times a column of the second: the "
                f"first one is ${_entry(a[0], [row[0] for row in b])} = {product[0][0]}$, the last "
                f"one ${_entry(a[-1], [row[-1] for row in b])} = {product[-1][-1]}$.",
            )
        if rng.random() < 0.5:
            b = _matrix(rng, size, size, largest)
            there, back = _rows_times_columns(a, b), _rows_times_columns(b, a)
            found = [
                [x - y for x, y in zip(*rows, strict=True)]
                for rows in zip(there, back, strict=True)
            ]
            return Drawn(
                ask="commutator",
                values={"a": a, "b": b},
                gold=gold.matrix(found),
                steps=f"The products are $AB = {matrix_text(there)}$ and $BA = "
                f"{matrix_text(back)}$. Subtract them entry by entry.",
            )
        factor, constant = base.whole(rng, 2, 5), base.whole(rng, 2, 9)
        minus = rng.random() < 0.5
        square = _rows_times_columns(a, a)
        found = [
            [
                square[row][column]
                + (-factor if minus else factor) * a[row][column]
                + (constant if row == column else 0)
                for column in range(size)
            ]
            for row in range(size)
        ]
        return Drawn(
            ask="polynomial",
            values={"a": a, "sign": "-+"[not minus], "factor": factor, "constant": constant},
            gold=gold.matrix(found),
            steps=f"The square is $A^2 = {matrix_text(square)}$. "
            f"{'Subtract' if minus else 'Add'} ${factor}$ times each entry of $A$, and add "
            f"${constant}$ on the diagonal.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Column by column: a product is what the matrix does to each vector, as a combination of
        # its own columns.
        a = exact.plainly(values["a"])
        b = exact.plainly(values.get("b", ()))
        if ask == "product":
            return gold.matrix(_by_columns(a, b))
        if ask == "commutator":
            there, back = _by_columns(a, b), _by_columns(b, a)
            return gold.matrix(
                [
                    [x - y for x, y in zip(*rows, strict=True)]
                    for rows in zip(there, back, strict=True)
                ]
            )
        # A^2 + pA + qI = A(A + pI) + qI
        size = len(a)
        factor = -values["factor"] if values["sign"] == "-" else values["factor"]
        shifted = [[x + factor * (r == c) for c, x in enumerate(row)] for r, row in enumerate(a)]
        found = _by_columns(a, shifted)
        for place in range(size):
            found[place][place] += values["constant"]
        return gold.matrix(found)


def _matrix(rng: random.Random, rows: int, columns: int, largest: float) -> Matrix:
    return [
        [base.whole(rng, 0, 2 * largest) - int(largest) for _ in range(columns)]
        for _ in range(rows)
    ]


def _rows_times_columns(left: Matrix, right: Matrix) -> Matrix:
    return [[int(each) for each in row] for row in exact.multiplied(left, right)]


def _entry(row: Sequence[int], column: Sequence[int]) -> str:
    return " + ".join(
        f"{bracketed(x) if place else x} \\cdot {bracketed(y)}"
        for place, (x, y) in enumerate(zip(row, column, strict=True))
    )


def _by_columns(
    left: Sequence[Sequence[Number]], right: Sequence[Sequence[Number]]
) -> list[list[Number]]:
    found: list[list[Number]] = [[0] * len(right[0]) for _ in left]
    for column in range(len(right[0])):
        for inner, row in enumerate(right):
            weight = row[column]
            if weight:
                for place, from_left in enumerate(left):
                    found[place][column] += from_left[inner] * weight
    return found
