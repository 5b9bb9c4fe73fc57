"""Traces and entries of powers of two by two matrices."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra.writing import nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class MatrixPower(Family):
    """The trace or an entry of a power of a matrix with two rows."""

    name = "matrix-power"
    tag = "algebra/matrices"
    wordings = Wordings(
        trace=(
            "Let $A = <a:matrix>$. Find the trace of $A^{<power>}$.",
            "What is the sum of the entries on the main diagonal of $<a:matrix>^{<power>}$?",
        ),
        corner=(
            "Let $A = <a:matrix>$. Find the entry of $A^{<power>}$ in the first row and the second "
            "column.",
            "What is the entry in the first row and the second column of $<a:matrix>^{<power>}$?",
        ),
    )

    power: Ends = dial(2, 8, "largest exponent", least=2, most=30)
    entry: Ends = dial(3, 5, "largest entry", least=2, most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        power = base.whole(rng, 2, base.steady(self.power, difficulty))
        largest = base.steady(self.entry, difficulty)
        a, d = (base.whole(rng, 0, 2 * largest) - int(largest) for _ in range(2))
        b, c = nonzero(rng, largest), nonzero(rng, largest)
        trace, determinant = a + d, a * d - b * c
        asked = "trace" if rng.random() < 0.5 else "corner"
        first, second = (2, trace) if asked == "trace" else (0, b)
        letter = "t" if asked == "trace" else "b"
        steps = (
            f"The trace of $A$ is ${trace}$ and its determinant ${determinant}$, so $A^2 = "
            f"{_combined(trace, determinant)}$. "
        )
        steps += (
            f"The traces $t_n$ of the powers begin with $t_0 = 2$, $t_1 = {trace}$"
            if asked == "trace"
            else f"The entries $b_n$ in that place of the powers begin with $b_0 = 0$, $b_1 = {b}$"
        )
        steps += " and obey the same recurrence"
        for n in range(2, power + 1):
            first, second = second, trace * second - determinant * first
            steps += f"{',' if n > 2 else ':'} ${letter}_{{{n}}} = {second}$"
        return Drawn(
            ask=asked,
            values={"a": [[a, b], [c, d]], "power": power},
            gold=gold.integer(second),
            steps=steps + ".",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By squaring and multiplying.
        square = [[int(entry) for entry in row] for row in values["a"]]
        found, power = [[1, 0], [0, 1]], values["power"]
        while power:
            if power % 2:
                found = _product(found, square)
            square, power = _product(square, square), power // 2
        return gold.integer(found[0][0] + found[1][1] if ask == "trace" else found[0][1])


def _product(left: list[list[int]], right: list[list[int]]) -> list[list[int]]:
    return [
        [row[0] * right[0][column] + row[1] * right[1][column] for column in (0, 1)] for row in left
    ]


def _combined(trace: int, determinant: int) -> str:
    """``3A - 2I``: the square by the theorem of Cayley and Hamilton."""
    parts = ""
    if trace:
        parts = {1: "A", -1: "-A"}.get(trace, f"{trace}A")
    if determinant:
        size = "" if abs(determinant) == 1 else str(abs(determinant))
        sign = "-" if determinant > 0 else "+"
        parts += f" {sign} {size}I" if parts else f"{sign.replace('+', '')}{size}I"
    return parts or "0"
