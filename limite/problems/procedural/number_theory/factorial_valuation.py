"""Primes in factorials and binomial coefficients."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import PRIMES, factorise, product_of
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class FactorialValuation(Family):
    """How often a number divides a factorial or a binomial coefficient, and final zeros."""

    name = "factorial-valuation"
    tag = "number-theory/valuations"
    wordings = Wordings(
        zeros=(
            "With how many zeros does $<number>!$ end?",
            "How many zeros stand at the end of the decimal representation of $<number>!$?",
        ),
        prime=(
            "What is the largest integer $k$ for which $<divisor>^k$ divides $<number>!$?",
            "How many times can $<number>!$ be divided by $<divisor>$, one division after the "
            "other, without a remainder?",
        ),
        base=(
            "The number $<number>!$ is written in base $<divisor>$. With how many zeros does it "
            "end?",
            "How many zeros stand at the end of $<number>!$ written in base $<divisor>$?",
        ),
        binomial=(
            "What is the largest integer $k$ for which $<divisor>^k$ divides "
            "$\\binom{<number>}{<part>}$?",
            "How often does the prime $<divisor>$ occur in the prime factorisation of "
            "$\\binom{<number>}{<part>}$?",
        ),
    )

    number: Ends = dial(40, 1500, "largest number whose factorial is taken", least=12, most=20_000)
    kinds: Ends = dial(1, 4, "how many kinds of question are asked", most=4)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        kinds = base.whole(rng, 1, base.steady(self.kinds, difficulty))
        ask = ("zeros", "prime", "binomial", "base")[kinds - 1]
        number = base.whole(rng, 10, base.slow_start(self.number, difficulty))
        values = {"number": number}
        if ask == "binomial":
            prime = base.chosen(rng, (2, 3, 5, 7))
            part = base.whole(rng, 3, number - 3)
            values |= {"divisor": prime, "part": part}
            sums = [_multiples(each, prime) for each in (number, part, number - part)]
            answer = sums[0][0] - sums[1][0] - sums[2][0]
            steps = (
                f"The factor ${prime}$ occurs {_times(sums[0][0])} in ${number}!$ "
                f"({sums[0][1]}), {_times(sums[1][0])} in ${part}!$ and {_times(sums[2][0])} in "
                f"${number - part}!$. Subtract: ${sums[0][0]} - {sums[1][0]} - {sums[2][0]} "
                f"= {answer}$."
            )
            return Drawn(ask=ask, values=values, gold=gold.integer(answer), steps=steps)
        if ask == "prime":
            factors = {base.chosen(rng, PRIMES[1:5]): 1}
        elif ask == "base":
            divisor = base.chosen(rng, (6, 8, 9, 12, 14, 15, 16, 18, 20, 24, 36))
            factors = factorise(divisor)
        else:
            factors = {2: 1, 5: 1}
        if ask != "zeros":
            values["divisor"] = product_of(factors)
        counts, steps = {}, ""
        for prime, exponent in factors.items():
            if ask == "zeros" and prime == 2:
                continue  # twos are more than fives
            total, rows = _multiples(number, prime)
            counts[prime] = total // exponent
            steps += (
                f"Count the multiples of ${prime}$, of ${prime}^2$ and so on up to ${number}$: "
                f"{rows}. "
            )
            if exponent > 1:
                steps += (
                    f"The factor ${prime}^{{{exponent}}}$ is there $\\left\\lfloor "
                    f"\\frac{{{total}}}{{{exponent}}} \\right\\rfloor = {counts[prime]}$ times. "
                )
        answer = min(counts.values())
        if ask == "zeros":
            steps += "Each 10 needs a 5 and a 2, and there are more factors 2 than factors 5."
        elif len(counts) > 1:
            steps += f"The smallest of these counts is ${answer}$."
        return Drawn(ask=ask, values=values, gold=gold.integer(answer), steps=steps.strip())

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number, divisor = values["number"], values.get("divisor", 10)
        if ask == "binomial":
            # Carries when the two parts are added in the prime's base.
            carry = carries = 0
            left, right = values["part"], number - values["part"]
            if right < 0:
                return None
            while left or right or carry:
                carry = (left % divisor + right % divisor + carry) // divisor
                carries += carry
                left, right = left // divisor, right // divisor
            return gold.integer(carries)
        # The number less its digit sum, over the prime less one.
        counts = []
        for prime, exponent in factorise(divisor).items():
            digits, rest = 0, number
            while rest:
                digits += rest % prime
                rest //= prime
            counts.append((number - digits) // (prime - 1) // exponent)
        return gold.integer(min(counts))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _multiples(number: int, prime: int) -> tuple[int, str]:
    """The exponent of a prime in a factorial, and the sum that gives it."""
    counts, power = [], prime
    while power <= number:
        counts.append(number // power)
        power *= prime
    total = sum(counts)
    return total, f"${' + '.join(map(str, counts)) or '0'}" + (
        f" = {total}$" if len(counts) > 1 else "$"
    )
