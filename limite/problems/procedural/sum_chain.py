"""Sums and differences of a few numbers: ``34+56-12=?``."""

from __future__ import annotations

import random

import attrs

from limite.core.types import Problem
from limite.problems.procedural import arithmetic, base
from limite.problems.procedural.base import Ends, ends

NAME = "sum-chain"


@attrs.frozen(kw_only=True)
class SumChain:
    """Sums and differences of a few positive numbers; no running total falls below zero.

    ``coarse`` solutions add number by number, ``fine`` ones digit by digit.
    """

    terms: Ends = attrs.field(default=(2.0, 4.0), validator=ends(2, 20))
    largest: Ends = attrs.field(
        default=(30.0, 300.0), validator=ends(3), metadata={"help": "largest number to add"}
    )

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        terms = base.whole_near(rng, base.steady(self.terms, difficulty))
        largest = base.slow_start(self.largest, difficulty)
        total = base.whole(rng, 2, largest)
        text, coarse, fine = str(total), [], []
        for _ in range(terms - 1):
            number = base.whole(rng, 2, largest)
            sign = -1 if rng.random() < 0.5 and number <= total else 1
            text += base.signed(sign * number)
            coarse.append(f"{total}{base.signed(sign * number)}={total + sign * number}")
            for part in base.places(number):
                fine.append(f"{total}{base.signed(sign * part)}={total + sign * part}")
                total += sign * part
        return base.record(
            generator=NAME,
            version=1,
            text=f"{text}=?",
            answer=total,
            solutions={"direct": [], "coarse": coarse, "fine": fine},
            difficulty=difficulty,
            tags=("arithmetic/sum",),
        )

    def check(self, problem: Problem) -> bool:
        answer = base.integer_answer(problem)
        expression, equals, rest = problem.problem.partition("=")
        if answer is None or (equals, rest) != ("=", "?"):
            return False
        try:
            return arithmetic.value(expression) == answer
        except arithmetic.Unreadable:
            return False
