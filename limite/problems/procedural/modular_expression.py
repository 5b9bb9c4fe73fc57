"""The remainder of a nested expression: ``(17*5+3) mod 7=?``."""

from __future__ import annotations

import random

import attrs

from limite.core.types import Problem
from limite.problems.procedural import arithmetic, base
from limite.problems.procedural.base import Ends, ends

NAME = "modular-expression"


@attrs.frozen(kw_only=True)
class ModularExpression:
    """The remainder, from 0 to the modulus less one, of an expression that is never negative.

    ``coarse`` solutions work out the whole expression first, ``fine`` ones reduce at every step.
    """

    operations: Ends = attrs.field(default=(1.0, 4.0), validator=ends(1, 12))
    largest: Ends = attrs.field(
        default=(12.0, 40.0), validator=ends(3), metadata={"help": "largest number in it"}
    )
    modulus: Ends = attrs.field(default=(9.0, 30.0), validator=ends(3))

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        operations = base.whole_near(rng, base.steady(self.operations, difficulty))
        largest = base.slow_start(self.largest, difficulty)
        modulus = base.whole(rng, 3, base.slow_start(self.modulus, difficulty))
        total = base.whole(rng, 2, largest)
        remainder, is_sum = total % modulus, False
        text, coarse, fine = str(total), [], _reduce(total, modulus)
        for _ in range(operations):
            number = base.whole(rng, 2, largest)
            operator = "+-*"[base.whole(rng, 0, 2)]
            if operator == "-" and number > total:
                operator = "+"
            if operator == "*":
                # A multiple of the modulus would make all before it worthless.
                number += number % modulus == 0
                text = f"({text})" if is_sum else text
            fine += _reduce(number, modulus)
            reduced = number % modulus
            before, after = total, remainder
            if operator == "*":
                total, remainder = total * number, remainder * reduced
            elif operator == "+":
                total, remainder = total + number, remainder + reduced
            else:
                total, remainder = total - number, remainder - reduced
            is_sum = operator != "*"
            text += f"{operator}{number}"
            coarse.append(f"{before}{operator}{number}={total}")
            fine.append(f"{after}{operator}{reduced}={remainder}")
            fine += _reduce(remainder, modulus)
            remainder %= modulus
        return base.record(
            generator=NAME,
            version=1,
            text=f"({text}) mod {modulus}=?",
            answer=remainder,
            solutions={
                "direct": [],
                "coarse": [*coarse, f"{total} mod {modulus}={remainder}"],
                "fine": fine,
            },
            difficulty=difficulty,
            tags=("number-theory/modular",),
        )

    def check(self, problem: Problem) -> bool:
        answer = base.integer_answer(problem)
        expression, equals, rest = problem.problem.partition("=")
        inner, word, modulus = expression.rpartition(" mod ")
        if answer is None or (equals, rest) != ("=", "?") or not word:
            return False
        try:
            whole, size = arithmetic.value(inner), arithmetic.value(modulus)
        except arithmetic.Unreadable:
            return False
        # The one number of the right range whose distance from the whole value is a multiple.
        return size > 1 and 0 <= answer < size and (whole - answer) % size == 0


def _reduce(number: int, modulus: int) -> list[str]:
    """The step that reduces ``number``, if it needs one."""
    return [] if 0 <= number < modulus else [f"{number} mod {modulus}={number % modulus}"]
