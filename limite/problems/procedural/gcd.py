"""Greatest common divisors: ``gcd(84,36)=?``."""

from __future__ import annotations

import random
import re

import attrs

from limite.core.types import Problem
from limite.problems.procedural import base
from limite.problems.procedural.base import Ends, ends

NAME = "gcd"
_TEXT = re.compile(r"gcd\(([0-9]{1,6}),([0-9]{1,6})\)=\?")
_TRIES = 20


@attrs.frozen(kw_only=True)
class Gcd:
    """The greatest common divisor of two numbers, neither of which divides the other.

    ``coarse`` solutions give the remainders of Euclid's algorithm, ``fine`` ones also the
    products that lead to them.
    """

    divisor: Ends = attrs.field(
        default=(20.0, 60.0), validator=ends(2, 900), metadata={"help": "largest answer"}
    )
    cofactor: Ends = attrs.field(
        default=(12.0, 30.0),
        validator=ends(4, 900),
        metadata={"help": "largest quotient of a number and the answer"},
    )

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        divisor = base.whole(rng, 1, base.slow_start(self.divisor, difficulty))
        largest = base.slow_start(self.cofactor, difficulty)
        for _ in range(_TRIES):
            first, second = base.whole(rng, 2, largest), base.whole(rng, 2, largest)
            if _coprime(first, second):
                break
        else:
            second = first + 1  # neighbours are coprime
        first, second = divisor * first, divisor * second
        coarse, fine = [], []
        larger, smaller = max(first, second), min(first, second)
        while smaller:
            quotient, rest = divmod(larger, smaller)
            coarse.append(f"{larger} mod {smaller}={rest}")
            if quotient > 1:
                fine.append(f"{quotient}*{smaller}={quotient * smaller}")
            fine.append(f"{larger}-{quotient * smaller}={rest}")
            larger, smaller = smaller, rest
        return base.record(
            generator=NAME,
            version=1,
            text=f"gcd({first},{second})=?",
            answer=divisor,
            solutions={"direct": [], "coarse": coarse, "fine": fine},
            difficulty=difficulty,
            tags=("number-theory/gcd",),
        )

    def check(self, problem: Problem) -> bool:
        answer = base.integer_answer(problem)
        match = _TEXT.fullmatch(problem.problem)
        if answer is None or match is None or answer < 1:
            return False
        first, second = int(match[1]), int(match[2])
        if first == 0 or second == 0 or first % answer or second % answer:
            return False
        # No prime may divide both quotients: found by trial division, not by Euclid.
        first, second = first // answer, second // answer
        prime = 2
        while prime <= min(first, second):
            if first % prime == 0 and second % prime == 0:
                return False
            while first % prime == 0:
                first //= prime
            prime += 1
        return True


def _coprime(first: int, second: int) -> bool:
    while second:
        first, second = second, first % second
    return first == 1
