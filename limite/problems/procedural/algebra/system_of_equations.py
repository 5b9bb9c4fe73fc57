"""Systems of as many linear equations as unknowns."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import linear, nonzero, read_linear
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number
from limite.problems.procedural.wording import Wordings, ratio_text

_LETTERS = "xyzw"


@attrs.frozen(kw_only=True)
class SystemOfEquations(Family):
    """Two to four linear equations with one common solution."""

    name = "system-of-equations"
    tag = "algebra/linear-systems"
    wordings = Wordings(
        "Solve the system of equations $\\begin{cases} <system:text> \\end{cases}$. "
        "Give the solution as $(<letters:text>)$.",
        "Find the tuple $(<letters:text>)$ with $\\begin{cases} <system:text> \\end{cases}$.",
        "Which values satisfy all of these equations: "
        "$\\begin{cases} <system:text> \\end{cases}$? "
        "Answer with the tuple $(<letters:text>)$.",
    )

    unknowns: Ends = dial(2, 4, "how many unknowns", least=2, most=4)
    coefficient: Ends = dial(3, 7, "largest coefficient", least=2, most=50)
    broken: Ends = dial(0, 0.5, "share of solutions with fractions", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.unknowns, difficulty))
        largest = base.steady(self.coefficient, difficulty)
        solution = [Fraction(nonzero(rng, 4 + largest)) for _ in range(count)]
        if rng.random() < base.steady(self.broken, difficulty):
            solution[base.whole(rng, 0, count - 1)] += Fraction(1, base.whole(rng, 2, 3))
        rows: list[list[int]] = []
        for place in range(count):
            row = [nonzero(rng, largest) for _ in range(count)]
            if rows:
                # Nothing but the last unknown is left of a row that depends on those above.
                while _dependent([*rows, row], count):
                    row[place] += 1
                    if row[place] == 0:
                        row[place] = 1
            rows.append(row)
        below = math.lcm(*(each.denominator for each in solution))
        scaled = [int(each * below) for each in solution]
        right: list[int] = []
        for place, row in enumerate(rows):
            total = sum(a * x for a, x in zip(row, scaled, strict=True))
            factor = below // math.gcd(total, below)  # for whole numbers throughout
            rows[place] = [factor * a for a in row]
            right.append(factor * total // below)
        letters = _LETTERS[:count]
        text = " \\\\ ".join(
            f"{linear(row, letters)} = {total}" for row, total in zip(rows, right, strict=True)
        )
        return Drawn(
            values={"system": text, "letters": ", ".join(letters)},
            gold=gold.ordered(solution, list(letters)),
            steps=_steps(rows, right, solution),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By Cramer's rule.
        letters = values["letters"].split(", ")
        rows: list[list[Number]] = []
        right: list[Number] = []
        for line in values["system"].split(" \\\\ "):
            left, _, total = line.partition(" = ")
            rows.append(read_linear(left, letters)[0])
            right.append(read_linear(total, ())[1])
        below = exact.determinant(rows)
        if not below:
            return None
        found = []
        for place in range(len(letters)):
            replaced = [
                [*row[:place], total, *row[place + 1 :]]
                for row, total in zip(rows, right, strict=True)
            ]
            found.append(Fraction(exact.determinant(replaced)) / below)
        return gold.ordered(found, letters)


def _dependent(rows: Sequence[Sequence[int]], count: int) -> bool:
    """Whether the first columns of these rows have determinant zero."""
    size = len(rows)
    return not exact.determinant([row[:size] for row in rows])


def _steps(
    rows: Sequence[Sequence[int]], right: Sequence[int], solution: Sequence[Fraction]
) -> str:
    """Eliminates one unknown after the other, then goes back."""
    letters = _LETTERS[: len(rows)]
    left = [[*row, total] for row, total in zip(rows, right, strict=True)]
    text = []
    kept = []
    for place, letter in enumerate(letters[:-1]):
        pivot = min((row for row in left if row[place]), key=lambda row: abs(row[place]))
        left = [row for row in left if row is not pivot]
        kept.append(pivot)
        left = [_without(row, pivot, place) for row in left]
        shown = ", ".join(f"${_line(row, letters)}$" for row in left)
        text.append(f"Eliminating ${letter}$ leaves {shown}.")
    if left[0][-2] != 1:
        text.append(f"So ${letters[-1]} = {ratio_text(solution[-1])}$.")
    for place in range(len(letters) - 2, -1, -1):
        text.append(
            f"Then ${_line(kept[place], letters)}$ gives "
            f"${letters[place]} = {ratio_text(solution[place])}$."
        )
    return " ".join(text)


def _without(row: list[int], pivot: Sequence[int], place: int) -> list[int]:
    """The row without one unknown, in small whole numbers."""
    if not row[place]:
        return row
    mixed = [row[place] * b - pivot[place] * a for a, b in zip(row, pivot, strict=True)]
    shared = math.gcd(*mixed)
    if next(each for each in mixed if each) < 0:
        shared = -shared
    return [each // shared for each in mixed]


def _line(row: Sequence[int], letters: str) -> str:
    return f"{linear(row[:-1], letters)} = {row[-1]}"
