"""Products of two whole numbers: ``7*34=?``."""

from __future__ import annotations

import random
import re

import attrs

from limite.core.types import Problem
from limite.problems.procedural import base
from limite.problems.procedural.base import Ends, ends

NAME = "product"
_TEXT = re.compile(r"([0-9]{1,6})\*([0-9]{1,6})=\?")


@attrs.frozen(kw_only=True)
class Product:
    """The product of two whole numbers.

    ``coarse`` solutions multiply digit by digit, ``fine`` ones also add the parts one by one.
    """

    first: Ends = attrs.field(
        default=(9.0, 60.0), validator=ends(3), metadata={"help": "largest first factor"}
    )
    second: Ends = attrs.field(
        default=(90.0, 400.0), validator=ends(3), metadata={"help": "largest second factor"}
    )

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        first = base.whole(rng, 2, base.slow_start(self.first, difficulty))
        second = base.whole(rng, 2, base.slow_start(self.second, difficulty))
        parts = base.places(second)
        coarse = [f"{first}*{part}={first * part}" for part in parts]
        fine, total = list(coarse), first * parts[0]
        for part in parts[1:]:
            fine.append(f"{total}+{first * part}={total + first * part}")
            total += first * part
        return base.record(
            generator=NAME,
            version=1,
            text=f"{first}*{second}=?",
            answer=first * second,
            solutions={"direct": [], "coarse": coarse, "fine": fine},
            difficulty=difficulty,
            tags=("arithmetic/product",),
        )

    def check(self, problem: Problem) -> bool:
        answer = base.integer_answer(problem)
        match = _TEXT.fullmatch(problem.problem)
        if answer is None or match is None:
            return False
        first, second = int(match[1]), int(match[2])
        # By quarter squares: no two numbers are multiplied but by themselves.
        return 4 * answer == (first + second) ** 2 - (first - second) ** 2
