"""The primes between two numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import PRIMES, and_list
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PrimesInInterval(Family):
    """The primes between two numbers, and tests whether a number is prime."""

    name = "primes-in-interval"
    tag = "number-theory/primes"
    wordings = Wordings(
        set=(
            "Find all prime numbers $p$ with $<low> \\le p \\le <high>$. Give the set of them.",
            "Which integers from $<low>$ to $<high>$, both included, are prime? Give the set of "
            "them.",
        ),
        count=(
            "How many prime numbers $p$ satisfy $<low> \\le p \\le <high>$?",
            "Count the primes from $<low>$ to $<high>$, both included.",
        ),
        sum=(
            "Find the sum of all prime numbers from $<low>$ to $<high>$, both included.",
            "What do the primes $p$ with $<low> \\le p \\le <high>$ add up to?",
        ),
        next=(
            "What is the smallest prime number greater than $<low>$?",
            "Find the first prime number after $<low>$.",
        ),
        test=(
            "Is $<low>$ a prime number? Answer yes or no.",
            "Is the number $<low>$ prime? Answer yes or no.",
        ),
    )

    size: Ends = dial(60, 2500, "largest number", least=30, most=9000)
    width: Ends = dial(10, 40, "widest interval", least=8, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("set", "count", "sum", "next", "test"))
        size = base.slow_start(self.size, difficulty)
        low = base.whole(rng, 10, size)
        if ask == "test":
            return self._test(rng, low, difficulty)
        high = low + base.whole(rng, 6, base.steady(self.width, difficulty))
        if ask == "next":
            high = low + 80
        numbers = range(low, high + 1)
        divisor = {n: next((p for p in PRIMES if n % p == 0 and p < n), 0) for n in numbers}
        found = [n for n in numbers if not divisor[n]]
        if not found:  # a gap between primes: ask for the end of it
            ask, high = "next", low + 80
            found = [n for n in range(low, high) if all(n % p for p in PRIMES if p < n)]
            divisor |= dict.fromkeys(range(low, high), 1)
        if ask == "next":
            first = next(n for n in found if n > low)
            checked = [n for n in range(low + 1, first) if n % 2]
            steps = "Even numbers are left out. " + "".join(
                f"${n} = {p} \\cdot {n // p}$. "
                for n in checked
                for p in [next(p for p in PRIMES if n % p == 0)]
            )
            return Drawn(
                ask=ask,
                values={"low": low},
                gold=gold.integer(first),
                steps=f"{steps}No prime up to ${math.isqrt(first)}$ divides ${first}$.",
            )
        composite = [f"${n} = {p} \\cdot {n // p}$" for n, p in divisor.items() if p > 5]
        steps = "Leave out the multiples of 2, 3 and 5"
        if composite:
            steps += f", and {and_list(composite)}"
        steps += f". {'The only prime is' if len(found) == 1 else 'The primes are'} "
        steps += f"{and_list([str(p) for p in found])}."
        if ask == "sum" and len(found) > 1:
            steps += f" Their sum is ${' + '.join(map(str, found))} = {sum(found)}$."
        answer = {
            "set": gold.finite_set(found),
            "count": gold.integer(len(found)),
            "sum": gold.integer(sum(found)),
        }[ask]
        return Drawn(ask=ask, values={"low": low, "high": high}, gold=answer, steps=steps)

    def _test(self, rng: random.Random, near: int, difficulty: float) -> Drawn:
        """A prime, or a product of two that no small prime divides."""
        if rng.random() < 0.5:
            number = near | 1
            while any(number % p == 0 for p in PRIMES if p < number):
                number += 2
            return Drawn(
                ask="test",
                values={"low": number},
                gold=gold.boolean(True),
                steps=f"A divisor other than 1 and itself would have a prime factor up to "
                f"${math.isqrt(number)}$, and none of those primes divides ${number}$.",
            )
        root = math.isqrt(near)
        primes = [p for p in PRIMES if 3 <= p <= max(7, root + root // 3) and p != 5]
        first = base.chosen(rng, primes[-1 - round(6 * difficulty + 2) :])
        second = base.chosen(rng, primes[-8:])
        low, high = sorted((first, second))
        return Drawn(
            ask="test",
            values={"low": low * high},
            gold=gold.boolean(False),
            steps=f"${low * high} = {low} \\cdot {high}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        low = values["low"]
        if ask == "test":
            return gold.boolean(_is_prime(low))
        if ask == "next":
            number = low + 1
            while not _is_prime(number):
                number += 1
            return gold.integer(number)
        # A sieve of the whole interval.
        high = values["high"]
        free = bytearray(b"\1") * (high + 1)
        free[:2] = b"\0\0"
        for n in range(2, math.isqrt(high) + 1):
            if free[n]:
                free[n * n :: n] = bytes(len(range(n * n, high + 1, n)))
        found = [n for n in range(low, high + 1) if free[n]]
        if ask == "set":
            return gold.finite_set(found)
        return gold.integer(len(found) if ask == "count" else sum(found))


def _is_prime(number: int) -> bool:
    """By the powers of three bases, which decide below a million."""
    if number < 2 or number % 2 == 0:
        return number == 2
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd //= 2
        twos += 1
    for witness in (2, 3, 5):
        if number == witness:
            return True
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True
