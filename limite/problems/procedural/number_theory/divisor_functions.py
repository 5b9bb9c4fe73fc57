"""Counts and sums of divisors."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import PRIMES, product_of, product_text, times
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class DivisorFunctions(Family):
    """How many divisors a number has, of some kind or of all kinds, and what they add up to."""

    name = "divisor-functions"
    tag = "number-theory/divisors"
    wordings = Wordings(
        count=(
            "How many positive divisors does $<number>$ have?",
            "Find the number of positive integers that divide $<number>$, counting 1 and the "
            "number itself.",
        ),
        sum=(
            "Find the sum of all positive divisors of $<number>$, including 1 and $<number>$.",
            "What do the positive divisors of $<number>$ add up to, the number itself included?",
        ),
        odd=(
            "How many odd positive divisors does $<number>$ have?",
            "Count the positive divisors of $<number>$ that are odd.",
        ),
        even=(
            "How many even positive divisors does $<number>$ have?",
            "Count the positive divisors of $<number>$ that are even.",
        ),
        square=(
            "How many positive divisors of $<number>$ are perfect squares? (The number 1 is one.)",
            "Count the perfect squares, 1 among them, that divide $<number>$.",
        ),
        reciprocal=(
            "Find the sum of the reciprocals of all positive divisors of $<number>$.",
            "The number $<number>$ is given. Compute the sum of $\\frac{1}{d}$ over all positive "
            "divisors $d$ of it.",
        ),
    )

    size: Ends = dial(60, 200_000, "largest number", least=40)
    kinds: Ends = dial(1, 6, "how many kinds of question are asked", most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        kinds = base.whole(rng, 1, base.steady(self.kinds, difficulty))
        ask = ("count", "sum", "odd", "even", "square", "reciprocal")[kinds - 1]
        top = base.slow_start(self.size, difficulty)
        factors = _factors(rng, top, 2 if ask in ("odd", "even", "square") else 1)
        number = product_of(factors)
        start = f"${number} = {product_text(factors)}$."
        if ask in ("sum", "reciprocal"):
            sums = [(p ** (e + 1) - 1) // (p - 1) for p, e in factors.items()]
            total = math.prod(sums)
            rows = ", ".join(
                f"${' + '.join(str(p**i) for i in range(e + 1))} = {s}$"
                for (p, e), s in zip(factors.items(), sums, strict=True)
            )
            steps = f"{start} The powers of each prime add up to {rows}"
            if len(sums) > 1:
                steps += (
                    ", and every divisor is one product of such powers, so the divisors add up to "
                    f"${times(sums)} = {total}$"
                )
            if ask == "sum":
                return Drawn(
                    ask=ask, values={"number": number}, gold=gold.integer(total), steps=f"{steps}."
                )
            return Drawn(
                ask=ask,
                values={"number": number},
                gold=gold.rational(Fraction(total, number)),
                steps=f"{steps}. With $d$ the number $\\frac{{{number}}}{{d}}$ is a divisor as "
                f"well, so the reciprocals add up to $\\frac{{{total}}}{{{number}}}$.",
            )
        choices = {
            p: e // 2 + 1 if ask == "square" else e if ask == "even" and p == 2 else e + 1
            for p, e in factors.items()
            if ask != "odd" or p > 2
        }
        exponents = ", ".join(
            f"{way} {'way' if way == 1 else 'ways'} for the prime {p}" for p, way in choices.items()
        )
        what = {
            "count": "The exponent of each prime in a divisor can be chosen freely up to this one",
            "odd": "An odd divisor has no factor 2, and the other exponents are free",
            "even": "An even divisor has at least one factor 2, and the other exponents are free",
            "square": "In a square every exponent is even",
        }[ask]
        ways = list(choices.values())
        return Drawn(
            ask=ask,
            values={"number": number},
            gold=gold.integer(math.prod(ways)),
            steps=f"{start} {what}: {exponents}. Multiply: ${times(ways)} = {math.prod(ways)}$."
            if len(ways) > 1
            else f"{start} {what}: {exponents}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number = values["number"]
        small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
        found = sorted({*small, *(number // d for d in small)})
        if ask == "sum":
            return gold.integer(sum(found))
        if ask == "reciprocal":
            return gold.rational(sum(Fraction(1, d) for d in found))
        if ask in ("odd", "even"):
            found = [d for d in found if d % 2 == (ask == "odd")]
        elif ask == "square":
            found = [d for d in found if math.isqrt(d) ** 2 == d]
        return gold.integer(len(found))


def _factors(rng: random.Random, top: float, twos: int) -> dict[int, int]:
    """Some primes with exponents whose product is at most ``top``, with at least ``twos`` twos."""
    found = {2: twos}
    number = 2**twos
    while True:
        room = [p for p in PRIMES[:12] if number * p <= top]
        if not room or (number * 8 > top and rng.random() < 0.3):
            break
        prime = room[min(int(rng.random() * len(room)), int(rng.random() * len(room)))]
        found[prime] = found.get(prime, 0) + 1
        number *= prime
    if number < 12:
        found = {2: 2, 3: 1}
    elif twos == 1 and rng.random() < 0.4 and len(found) > 1:
        rest = {p: e for p, e in found.items() if p > 2}
        found = rest if product_of(rest) > 20 else found
    return dict(sorted(found.items()))
