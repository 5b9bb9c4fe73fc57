"""Numbers: the data sets whose questions are sums, products, divisors, digits and angles."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import attrs

from limite.problems.gym import exact
from limite.problems.gym.adapter import Adapted
from limite.problems.procedural import base, gold
from limite.problems.procedural.base import Ends, slow_start, steady
from limite.problems.procedural.family import dial
from limite.problems.procedural.gold import Gold


def whole(item: Mapping[str, Any]) -> Gold:
    """The item's answer, a whole number."""
    return gold.integer(int(item["answer"]))


class _Expression(Adapted):
    """Questions that hold one expression, whose value is asked for."""

    __slots__ = ()
    place: ClassVar[re.Pattern[str]]

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return whole(item)

    def solve(self, question: str) -> Gold | None:
        found = self.place.fullmatch(question)
        value = exact.value(found[1]) if found else Fraction(1, 2)
        return gold.integer(value.numerator) if value.denominator == 1 else None


def _sizes(
    rng: random.Random, difficulty: float, terms: Ends, digits: Ends, least: int = 2
) -> dict[str, int]:
    return {
        "min_terms": least,
        "max_terms": base.whole_near(rng, steady(terms, difficulty)),
        "min_digits": 1,
        "max_digits": base.whole_near(rng, steady(digits, difficulty)),
    }


@attrs.frozen(kw_only=True)
class GymBasicArithmetic(_Expression):
    """basic_arithmetic: expressions of + - * / with parentheses; floored divisions are left out."""

    name = "gym-basic-arithmetic"
    dataset = "basic_arithmetic"
    tag = "reasoning-gym/arithmetic"
    place = re.compile(r"Calculate (.*)\.")

    terms: Ends = dial(3, 8, "most terms", least=2, most=30)
    digits: Ends = dial(1, 4, "most digits of a number", most=12)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return _sizes(rng, difficulty, self.terms, self.digits)


@attrs.frozen(kw_only=True)
class GymChainSum(_Expression):
    """chain_sum: numbers added and taken away."""

    name = "gym-chain-sum"
    dataset = "chain_sum"
    tag = "reasoning-gym/arithmetic"
    place = re.compile(r"State the final answer to the following arithmetic problem: (.*) =")

    terms: Ends = dial(3, 8, "most terms", least=2, most=30)
    digits: Ends = dial(1, 5, "most digits of a number", most=12)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return _sizes(rng, difficulty, self.terms, self.digits)


@attrs.frozen(kw_only=True)
class GymProducts(_Expression):
    """products: numbers multiplied."""

    name = "gym-products"
    dataset = "products"
    tag = "reasoning-gym/arithmetic"
    place = re.compile(
        r"Solve the following multiplication: (.*)\. Give only the result as your final answer\."
    )

    factors: Ends = dial(2, 3, "most factors", least=2, most=10)
    digits: Ends = dial(2, 5, "most digits of a factor", most=12)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return _sizes(rng, difficulty, self.factors, self.digits)


@attrs.frozen(kw_only=True)
class GymDecimalChainSum(Adapted):
    """decimal_chain_sum: decimal numbers added and taken away, exactly."""

    name = "gym-decimal-chain-sum"
    dataset = "decimal_chain_sum"
    tag = "reasoning-gym/arithmetic"

    terms: Ends = dial(2, 6, "most terms", least=2, most=30)
    digits: Ends = dial(1, 4, "most digits before the point, and behind it", most=12)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        sizes = _sizes(rng, difficulty, self.terms, self.digits)
        return {**sizes, "min_decimal_places": 1, "max_decimal_places": sizes["max_digits"]}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return gold.terminating(Fraction(item["answer"]))

    def solve(self, question: str) -> Gold | None:
        found = GymChainSum.place.fullmatch(question)
        return gold.terminating(exact.value(found[1])) if found else None


class _Listed(Adapted):
    """Questions that end in a list of numbers of which one number is asked for."""

    __slots__ = ()

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return whole(item)

    def numbers(self, question: str) -> list[int]:
        found = re.search(r"of these numbers: ([\d, ]+)", question)
        return [int(each) for each in found[1].split(",")] if found else []


@attrs.frozen(kw_only=True)
class GymGcd(_Listed):
    """gcd: the greatest common divisor of listed numbers."""

    name = "gym-gcd"
    dataset = "gcd"
    tag = "reasoning-gym/number-theory"

    count: Ends = dial(2, 4, "most numbers", least=2, most=20)
    largest: Ends = dial(100, 5000, "largest number", least=10)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {
            "max_numbers": base.whole_near(rng, steady(self.count, difficulty)),
            "max_value": round(slow_start(self.largest, difficulty)),
        }

    def solve(self, question: str) -> Gold | None:
        numbers = self.numbers(question)
        for each in range(min(numbers), 0, -1) if max(numbers) <= 1_000_000 else ():
            if not any(number % each for number in numbers):
                return gold.integer(each)
        return None


@attrs.frozen(kw_only=True)
class GymLcm(_Listed):
    """lcm: the least common multiple of listed numbers."""

    name = "gym-lcm"
    dataset = "lcm"
    tag = "reasoning-gym/number-theory"

    count: Ends = dial(2, 3, "most numbers", least=2, most=20)
    largest: Ends = dial(60, 300, "largest number", least=10, most=10_000)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {
            "max_numbers": base.whole_near(rng, steady(self.count, difficulty)),
            "max_value": round(slow_start(self.largest, difficulty)),
        }

    def solve(self, question: str) -> Gold | None:
        rest, found = self.numbers(question), 1
        if not rest or max(rest) > 10_000 or min(rest) < 1:
            return None
        for prime in range(2, max(rest) + 1):  # what divides any of them stands once in the answer
            while any(number % prime == 0 for number in rest):
                found *= prime
                rest = [number // prime if number % prime == 0 else number for number in rest]
        return gold.integer(found)


@attrs.frozen(kw_only=True)
class GymCountBits(Adapted):
    """count_bits: the ones in a number's binary digits."""

    name = "gym-count-bits"
    dataset = "count_bits"
    tag = "reasoning-gym/number-theory"

    bits: Ends = dial(10, 31, "most binary digits", least=4, most=60)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {"max_n": 2 ** base.whole_near(rng, steady(self.bits, difficulty)) - 1}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return whole(item)

    def solve(self, question: str) -> Gold | None:
        rest, ones = int(question.rstrip("?").rpartition(" ")[2]), 0
        while rest:
            rest, bit = divmod(rest, 2)
            ones += bit
        return gold.integer(ones)


@attrs.frozen(kw_only=True)
class GymCountPrimes(Adapted):
    """count_primes: how many primes lie between two numbers."""

    name = "gym-count-primes"
    dataset = "count_primes"
    tag = "reasoning-gym/number-theory"

    largest: Ends = dial(100, 2000, "upper bound", least=20, most=20_000)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {"max_n": round(slow_start(self.largest, difficulty))}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return whole(item)

    def solve(self, question: str) -> Gold | None:
        found = re.fullmatch(r"Count .* between (\d{1,6}) and (\d{1,6}) \(inclusive\) \?", question)
        if not found:
            return None
        numbers = range(max(2, int(found[1])), int(found[2]) + 1)
        return gold.integer(sum(map(_prime, numbers)))


def _prime(number: int) -> bool:
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 1
    return True


@attrs.frozen(kw_only=True)
class GymFractionSimplification(Adapted):
    """fraction_simplification: a fraction in lowest terms."""

    name = "gym-fraction-simplification"
    dataset = "fraction_simplification"
    tag = "reasoning-gym/arithmetic"

    part: Ends = dial(20, 1000, "largest part in lowest terms", least=5)
    factor: Ends = dial(10, 100, "largest factor of both parts", least=2)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {
            "max_value": round(slow_start(self.part, difficulty)),
            "min_factor": 2,
            "max_factor": round(slow_start(self.factor, difficulty)),
            "styles": ["latex_inline", "latex_frac", "latex_dfrac"],
        }

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        above, below = (int(each) for each in re.findall(r"\d+", item["answer"]))
        stated = Fraction(above, below)
        if (stated.numerator, stated.denominator) != (above, below):
            return None  # not in lowest terms, which is what was asked for
        return gold.rational(stated, lowest=True)

    def solve(self, question: str) -> Gold | None:
        found = re.search(r"\$(?:\\d?frac\{)?(\d{1,8})(?:\}\{|/)(\d{1,8})\}?\$", question)
        if not found:
            return None
        above, below = int(found[1]), int(found[2])
        divisor, rest = above, below
        while rest:
            divisor, rest = rest, divisor % rest
        return gold.rational(Fraction(above // divisor, below // divisor), lowest=True)


@attrs.frozen(kw_only=True)
class GymBaseConversion(Adapted):
    """base_conversion: a number's digits in another base."""

    name = "gym-base-conversion"
    dataset = "base_conversion"
    tag = "reasoning-gym/number-theory"

    largest: Ends = dial(50, 5000, "largest number", least=20)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        # Of zero the data set states no digits at all in most bases.
        return {"min_value": 1, "max_value": round(slow_start(self.largest, difficulty))}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        to = item["metadata"]["target_base"]
        return gold.in_base(int(item["answer"], to), to)

    def solve(self, question: str) -> Gold | None:
        found = re.search(r"the (\S+) number ([0-9a-z]{1,60}) to (\S+)$", question)
        if not found:
            return None
        of, to = _base(found[1]), _base(found[3])
        return gold.in_base(int(found[2], of), to)


def _base(name: str) -> int:
    return {"binary": 2, "octal": 8, "hexadecimal": 16}.get(name) or int(name.removeprefix("base-"))


@attrs.frozen(kw_only=True)
class GymSimpleGeometry(Adapted):
    """simple_geometry: the last angle of a convex polygon; those that cannot be are left out."""

    name = "gym-simple-geometry"
    dataset = "simple_geometry"
    tag = "reasoning-gym/geometry"

    sides: Ends = dial(4, 9, "most sides", least=3, most=15)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        # With angles from 10 degrees on, few polygons of many sides would be convex.
        most = base.whole_near(rng, steady(self.sides, difficulty))
        sides = base.whole(rng, 3, most)
        least = 10 if sides == 3 else round(180 - 360 / sides) - 40
        most_of = 160 if sides == 3 else 175
        return {"min_sides": sides, "max_sides": sides, "min_angle": least, "max_angle": most_of}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return gold.terminating(Fraction(item["answer"]))

    def solve(self, question: str) -> Gold | None:
        sides = re.search(r"(\d+)(?: sides|-gon)", question)
        angles = [Fraction(each) for each in re.findall(r"(\d+\.\d+)°", question)]
        if not sides or len(angles) != int(sides[1]) - 1:
            return None
        last = 360 - sum(180 - angle for angle in angles)  # outer angles make one turn
        return gold.terminating(180 - last) if 0 < last < 180 else None
