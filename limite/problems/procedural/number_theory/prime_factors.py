"""The primes of which a number is made."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import (
    PRIMES,
    factorise,
    power_text,
    product_of,
)
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PrimeFactors(Family):
    """The primes that divide a number, all of them, the largest, or with their exponents."""

    name = "prime-factors"
    tag = "number-theory/factorisation"
    wordings = Wordings(
        set=(
            "Which primes divide $<number>$? Give the set of all of them.",
            "Find the set of all prime divisors of $<number>$.",
        ),
        largest=(
            "What is the largest prime factor of $<number>$?",
            "Find the greatest prime number that divides $<number>$.",
        ),
        count=(
            "How many prime factors does $<number>$ have, counted with multiplicity (so that 12 "
            "has three)?",
            "The number $<number>$ is written as a product of primes, which need not be "
            "different. How many factors does the product have?",
        ),
        exponents=(
            "Write $<number>$ as a product of powers of primes $p_1 < p_2 < \\dots$ with positive "
            "exponents. Give the list of the exponents, in this order.",
            "The number $<number>$ is factorised into primes, from the smallest prime to the "
            "largest. Give the exponents of its different primes in this order, as a tuple.",
        ),
    )

    primes: Ends = dial(3, 40, "how many primes are in use, from 2 on", least=3, most=75)
    count: Ends = dial(3, 8, "how many prime factors, with multiplicity", least=2, most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("set", "largest", "count", "exponents"))
        count = base.whole(rng, 3, base.steady(self.count, difficulty))
        factors: dict[int, int] = {}
        for index in range(count):
            room = base.slow_start(self.primes, difficulty) if index < 2 else 3
            prime = PRIMES[base.whole(rng, 0, room - 1)]
            factors[prime] = factors.get(prime, 0) + 1
        if len(factors) == 1:
            other = 5 if 5 not in factors else 3
            factors[other] = 1
        factors = dict(sorted(factors.items()))
        number, rest, divisions = product_of(factors), product_of(factors), []
        for prime, exponent in factors.items():
            rest //= prime**exponent
            left = f"{power_text(prime, exponent)} \\cdot " + (str(rest) if rest > 1 else "1")
            divisions.append(f"${rest * prime**exponent} = {left}$")
        answer = {
            "set": gold.finite_set(factors),
            "largest": gold.integer(max(factors)),
            "count": gold.integer(sum(factors.values())),
            "exponents": gold.ordered(list(factors.values())),
        }[ask]
        return Drawn(
            ask=ask,
            values={"number": number},
            gold=answer,
            steps=f"Divide by the primes in turn, each as often as it goes: {', '.join(divisions)}."
            + (
                f" The exponents add up to ${' + '.join(map(str, factors.values()))} = "
                f"{sum(factors.values())}$."
                if ask == "count"
                else ""
            ),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        factors = factorise(values["number"])
        if ask == "set":
            return gold.finite_set(factors)
        if ask == "largest":
            return gold.integer(max(factors))
        if ask == "count":
            return gold.integer(sum(factors.values()))
        return gold.ordered(list(factors.values()))
