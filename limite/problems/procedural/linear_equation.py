"""One linear equation in x: ``3x+4=19, x=?``."""

from __future__ import annotations

import random

import attrs

from limite.core.types import Problem
from limite.problems.procedural import arithmetic, base
from limite.problems.procedural.base import Ends, ends

NAME = "linear-equation"


@attrs.frozen(kw_only=True)
class LinearEquation:
    """A linear equation with x on one side or, more often as it gets harder, on both.

    ``coarse`` solutions collect the terms, ``fine`` ones write out every move.
    """

    coefficient: Ends = attrs.field(default=(6.0, 20.0), validator=ends(3))
    solution: Ends = attrs.field(default=(9.0, 60.0), validator=ends(2))
    constant: Ends = attrs.field(default=(20.0, 200.0), validator=ends(2))
    both_sides: Ends = attrs.field(
        default=(0.0, 1.0), validator=ends(0, 1), metadata={"help": "share with x on both sides"}
    )

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        both = rng.random() < base.steady(self.both_sides, difficulty)
        left = base.whole(rng, 2, base.slow_start(self.coefficient, difficulty))
        right = base.whole(rng, 1, left - 1) if both else 0
        x = base.whole(rng, 1, base.slow_start(self.solution, difficulty))
        constant = base.whole(rng, 1, base.slow_start(self.constant, difficulty))
        if rng.random() < 0.5:
            constant = -constant
        swap = both and rng.random() < 0.5
        other = (left - right) * x + constant
        if both and other == 0:
            # Without a constant on that side; one more keeps all four terms.
            constant += 1 if constant > 0 else -1
            other = (left - right) * x + constant
        sides = [
            base.term(left, "x", first=True) + base.signed(constant),
            base.term(right, "x", first=True) + base.signed(other) if both else str(other),
        ]
        if swap:
            sides.reverse()
        slope = left - right
        product = slope * x
        collected = f"{base.term(slope, 'x', first=True)}={product}"
        gathered = base.term(left, "x", first=True)
        if both:
            gathered += base.term(-right, "x", first=False)
        fine = [f"{gathered}={other}{base.signed(-constant)}", collected]
        if slope > 1:
            fine += [f"x={product}/{slope}", f"x={x}"]
        return base.record(
            generator=NAME,
            version=1,
            text=f"{sides[0]}={sides[1]}, x=?",
            answer=x,
            solutions={"direct": [], "coarse": [collected], "fine": fine},
            difficulty=difficulty,
            tags=("algebra/linear-equation",),
        )

    def check(self, problem: Problem) -> bool:
        answer = base.integer_answer(problem)
        equation, _, rest = problem.problem.partition(", ")
        sides = equation.split("=")
        if answer is None or rest != "x=?" or len(sides) != 2:
            return False
        try:
            left, right = (arithmetic.linear_form(side) for side in sides)
        except arithmetic.Unreadable:
            return False
        if not set(left) | set(right) <= {"", "x"} or left.get("x", 0) == right.get("x", 0):
            return False
        difference = left.get("x", 0) - right.get("x", 0)
        return difference * answer == right.get("", 0) - left.get("", 0)
