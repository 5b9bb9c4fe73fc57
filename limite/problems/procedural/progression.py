"""Sequences that grow evenly, and what comes next: ``4,7,10,?``."""

from __future__ import annotations

import random
import re

import attrs

from limite.core.types import Problem
from limite.problems.procedural import base
from limite.problems.procedural.base import Ends, ends

NAME = "progression"
_TEXT = re.compile(r"((?:[0-9]{1,9},){3,20})\?")


@attrs.frozen(kw_only=True)
class Progression:
    """The next number of a sequence whose steps are all the same.

    ``coarse`` solutions take the last step, ``fine`` ones find it between all numbers.
    """

    terms: Ends = attrs.field(default=(3.0, 5.0), validator=ends(3, 20))
    step: Ends = attrs.field(
        default=(12.0, 150.0), validator=ends(2), metadata={"help": "largest step"}
    )
    first: Ends = attrs.field(
        default=(60.0, 600.0), validator=ends(3), metadata={"help": "largest first number"}
    )

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        terms = base.whole_near(rng, base.steady(self.terms, difficulty))
        step = base.whole(rng, 2, base.slow_start(self.step, difficulty))
        first = base.whole(rng, 1, base.slow_start(self.first, difficulty))
        numbers = [first + step * place for place in range(terms)]
        last = f"{numbers[-1]}+{step}={numbers[-1] + step}"
        found = [f"{numbers[k + 1]}-{numbers[k]}={step}" for k in range(terms - 1)]
        return base.record(
            generator=NAME,
            version=1,
            text=",".join(map(str, numbers)) + ",?",
            answer=numbers[-1] + step,
            solutions={"direct": [], "coarse": [found[-1], last], "fine": [*found, last]},
            difficulty=difficulty,
            tags=("sequences/arithmetic",),
        )

    def check(self, problem: Problem) -> bool:
        answer = base.integer_answer(problem)
        match = _TEXT.fullmatch(problem.problem)
        if answer is None or match is None:
            return False
        numbers = [int(each) for each in match[1].split(",")[:-1]] + [answer]
        # Every number is the mean of its neighbours.
        return all(
            2 * numbers[k] == numbers[k - 1] + numbers[k + 1] for k in range(1, len(numbers) - 1)
        )
