"""Divisions without a remainder: ``238/7=?``."""

from __future__ import annotations

import random
import re

import attrs

from limite.core.types import Problem
from limite.problems.procedural import base
from limite.problems.procedural.base import Ends, ends

NAME = "quotient"
_TEXT = re.compile(r"([0-9]{1,9})/([0-9]{1,6})=\?")


@attrs.frozen(kw_only=True)
class Quotient:
    """A division that leaves nothing over.

    ``coarse`` solutions multiply back, ``fine`` ones take away the largest part first.
    """

    divisor: Ends = attrs.field(
        default=(9.0, 60.0), validator=ends(3), metadata={"help": "largest divisor"}
    )
    quotient: Ends = attrs.field(
        default=(90.0, 400.0), validator=ends(3), metadata={"help": "largest answer"}
    )

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        divisor = base.whole(rng, 2, base.slow_start(self.divisor, difficulty))
        answer = base.whole(rng, 2, base.slow_start(self.quotient, difficulty))
        whole = divisor * answer
        fine, rest = [], whole
        for part in base.places(answer):
            fine.append(f"{divisor}*{part}={divisor * part}")
            fine.append(f"{rest}-{divisor * part}={rest - divisor * part}")
            rest -= divisor * part
        return base.record(
            generator=NAME,
            version=1,
            text=f"{whole}/{divisor}=?",
            answer=answer,
            solutions={"direct": [], "coarse": [f"{divisor}*{answer}={whole}"], "fine": fine},
            difficulty=difficulty,
            tags=("arithmetic/quotient",),
        )

    def check(self, problem: Problem) -> bool:
        answer = base.integer_answer(problem)
        match = _TEXT.fullmatch(problem.problem)
        if answer is None or match is None or int(match[2]) == 0:
            return False
        return divmod(int(match[1]), int(match[2])) == (answer, 0)
