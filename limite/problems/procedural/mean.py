"""Means of a few numbers: ``mean(4,9,11)=?``."""

from __future__ import annotations

import random
import re

import attrs

from limite.core.types import Problem
from limite.problems.procedural import base
from limite.problems.procedural.base import Ends, ends

NAME = "mean"
_TEXT = re.compile(r"mean\(([0-9]{1,6}(?:,[0-9]{1,6}){1,19})\)=\?")


@attrs.frozen(kw_only=True)
class Mean:
    """The mean of a few whole numbers, which is whole.

    ``coarse`` solutions add all and divide, ``fine`` ones add number by number.
    """

    numbers: Ends = attrs.field(default=(2.0, 4.0), validator=ends(2, 20))
    largest: Ends = attrs.field(
        default=(40.0, 300.0), validator=ends(3), metadata={"help": "largest number"}
    )

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        count = base.whole_near(rng, base.steady(self.numbers, difficulty))
        largest = base.slow_start(self.largest, difficulty)
        numbers = [base.whole(rng, 1, largest) for _ in range(count)]
        numbers[-1] += -sum(numbers) % count
        total = numbers[0]
        fine = []
        for number in numbers[1:]:
            fine.append(f"{total}+{number}={total + number}")
            total += number
        mean = f"{total}/{count}={total // count}"
        return base.record(
            generator=NAME,
            version=1,
            text=f"mean({','.join(map(str, numbers))})=?",
            answer=total // count,
            solutions={
                "direct": [],
                "coarse": [f"{'+'.join(map(str, numbers))}={total}", mean],
                "fine": [*fine, mean],
            },
            difficulty=difficulty,
            tags=("arithmetic/mean",),
        )

    def check(self, problem: Problem) -> bool:
        answer = base.integer_answer(problem)
        match = _TEXT.fullmatch(problem.problem)
        if answer is None or match is None:
            return False
        # What the numbers are above the mean and below it adds up to nothing.
        return sum(int(each) - answer for each in match[1].split(",")) == 0
