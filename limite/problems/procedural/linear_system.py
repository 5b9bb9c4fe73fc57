"""Two linear equations in x and y: ``2x+y=7, x-y=2, x+y=?``."""

from __future__ import annotations

import random

import attrs

from limite.core.types import Problem
from limite.problems.procedural import arithmetic, base
from limite.problems.procedural.base import Ends, ends

NAME = "linear-system"
_ASKED = ((1, 0), (0, 1), (1, 1), (1, -1))


@attrs.frozen(kw_only=True)
class LinearSystem:
    """Two linear equations with one solution in whole numbers; asks for x, y, x+y or x-y.

    ``coarse`` solutions give what elimination leaves and both unknowns, ``fine`` ones every step.
    """

    coefficient: Ends = attrs.field(default=(3.0, 9.0), validator=ends(2))
    solution: Ends = attrs.field(default=(9.0, 40.0), validator=ends(2))

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        largest = base.slow_start(self.coefficient, difficulty)
        unknown = base.slow_start(self.solution, difficulty)
        x, y = base.whole(rng, 1, unknown), base.whole(rng, 1, unknown)
        first, second = ((base.whole(rng, 1, largest), _signed(rng, largest)) for _ in range(2))
        asked = _ASKED[base.whole(rng, 0, len(_ASKED) - 1)]
        if _determinant(first, second) == 0:
            # One more y, never none of it, makes proportional equations independent.
            second = (second[0], second[1] + 1 or 1)
        if _determinant(asked, first) == 0 or _determinant(asked, second) == 0:
            asked = (1, 0)  # the answer stood in the question
        totals = [a * x + b * y for a, b in (first, second)]
        answer = asked[0] * x + asked[1] * y
        equations = [
            f"{_left(*pair)}={total}" for pair, total in zip((first, second), totals, strict=True)
        ]
        eliminated, fine = _eliminate((first, second), totals)
        ending = [f"{x}{base.signed(asked[1] * y)}={answer}"] if asked[0] and asked[1] else []
        fine += _divide("x", eliminated[0], eliminated[1])
        fine += _substitute(first, totals[0], x) if asked[1] else []
        coarse = [f"{base.term(eliminated[0], 'x', first=True)}={eliminated[1]}"]
        coarse += [f"x={x}"] * (eliminated[0] != 1) + [f"y={y}"] * (asked[1] != 0)
        return base.record(
            generator=NAME,
            version=1,
            text=f"{equations[0]}, {equations[1]}, {_left(*asked)}=?",
            answer=answer,
            solutions={"direct": [], "coarse": coarse, "fine": fine + ending},
            difficulty=difficulty,
            tags=("algebra/linear-system",),
        )

    def check(self, problem: Problem) -> bool:
        answer = base.integer_answer(problem)
        parts = problem.problem.split(", ")
        if answer is None or len(parts) != 3 or not parts[2].endswith("=?"):
            return False
        try:
            sides = [
                [arithmetic.linear_form(side) for side in part.split("=")] for part in parts[:2]
            ]
            asked = arithmetic.linear_form(parts[2][:-2])
        except arithmetic.Unreadable:
            return False
        if any(len(pair) != 2 or set(pair[1]) - {""} for pair in sides):
            return False
        (a, b, e), (c, d, f) = (
            (left.get("x", 0), left.get("y", 0), right.get("", 0) - left.get("", 0))
            for left, right in sides
        )
        determinant = a * d - b * c
        if not determinant or not {*sides[0][0], *sides[1][0], *asked} <= {"", "x", "y"}:
            return False
        # Cramer's rule, with the determinant kept as a factor.
        values = {"x": e * d - b * f, "y": a * f - e * c}
        constant = asked.pop("", 0) * determinant
        return arithmetic.substitute(asked, values) + constant == answer * determinant


Pair = tuple[int, int]


def _signed(rng: random.Random, largest: float) -> int:
    size = base.whole(rng, 1, largest)
    return -size if rng.random() < 0.5 else size


def _determinant(first: Pair, second: Pair) -> int:
    return first[0] * second[1] - first[1] * second[0]


def _left(a: int, b: int) -> str:
    """``ax+by``; a term with coefficient 0 is left out."""
    text = base.term(a, "x", first=True) if a else ""
    return text + (base.term(b, "y", first=not text) if b else "")


def _eliminate(pairs: tuple[Pair, Pair], totals: list[int]) -> tuple[Pair, list[str]]:
    """Removes y: the coefficient of x (positive) and what it equals, and the steps to it."""
    common = _common_multiple(abs(pairs[0][1]), abs(pairs[1][1]))
    scaled, steps = [], []
    for (a, b), total in zip(pairs, totals, strict=True):
        factor = common // abs(b)
        scaled.append((factor * a, factor * b, factor * total))
        if factor > 1:
            steps.append(f"{_left(factor * a, factor * b)}={factor * total}")
    (a, b, left), (c, d, right) = scaled
    sign = -1 if b == d else 1
    if a + sign * c < 0:
        a, left, c, right = c, right, a, left
    slope, total = a + sign * c, left + sign * right
    middle = base.term(sign * c, "x", first=False)
    steps.append(f"{base.term(a, 'x', first=True)}{middle}={left}{_plus(sign, right)}")
    return (slope, total), steps


def _plus(sign: int, number: int) -> str:
    """``+5``, ``-5`` or, for a minus before a negative number, ``-(-5)``."""
    operator = "+" if sign > 0 else "-"
    return f"{operator}{number}" if number >= 0 else f"{operator}({number})"


def _divide(letter: str, coefficient: int, total: int) -> list[str]:
    """``3x=9;x=3``."""
    steps = [f"{base.term(coefficient, letter, first=True)}={total}"]
    return steps if coefficient == 1 else [*steps, f"{letter}={total // coefficient}"]


def _substitute(pair: Pair, total: int, x: int) -> list[str]:
    """Finds y from ``ax+by=total`` and x."""
    known = pair[0] * x
    steps = [f"{pair[0]}*{x}={known}"] if pair[0] > 1 else []
    steps.append(f"{base.term(pair[1], 'y', first=True)}={total}{base.signed(-known)}")
    return steps + _divide("y", pair[1], total - known)


def _common_multiple(first: int, second: int) -> int:
    multiple = first
    while multiple % second:
        multiple += first
    return multiple
