"""Primitive roots of primes."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import (
    PRIMES,
    divisors,
    factorise,
    phi,
    product_text,
)
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PrimitiveRoots(Family):
    """The residues whose powers reach every other to a prime modulus, or a given order."""

    name = "primitive-roots"
    tag = "number-theory/orders"
    wordings = Wordings(
        count=(
            "How many primitive roots are there modulo the prime $<prime>$?",
            "The number $<prime>$ is prime. How many integers $g$ with $1 \\le g < <prime>$ are "
            "primitive roots modulo $<prime>$?",
        ),
        smallest=(
            "Find the smallest positive primitive root modulo the prime $<prime>$.",
            "What is the smallest positive integer $g$ whose powers leave all remainders "
            "except 0 on division by the prime $<prime>$?",
        ),
        order=(
            "How many integers $a$ with $1 \\le a < <prime>$ have the multiplicative order "
            "$<order>$ modulo the prime $<prime>$?",
            "The number $<prime>$ is prime. For how many of the nonzero residues modulo "
            "$<prime>$ is $<order>$ the smallest positive exponent whose power is congruent to 1?",
        ),
        power=(
            "How many of the nonzero residues modulo the prime $<prime>$ are "
            "congruent to $x^{<order>}$ for some integer $x$?",
            "The number $<prime>$ is prime. For how many integers $a$ with $1 \\le a < <prime>$ "
            "does the congruence $x^{<order>} \\equiv a \\pmod{<prime>}$ have a solution?",
        ),
    )

    prime: Ends = dial(7, 75, "how many odd primes are in use, from 3 on", least=7, most=75)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        prime = PRIMES[base.whole(rng, 3, base.steady(self.prime, difficulty))]
        ask = base.chosen(rng, ("count", "smallest", "order", "power", "order", "power"))
        last = prime - 1
        values = {"prime": prime}
        factors = factorise(last)
        if ask == "count":
            answer = phi(last)
            steps = (
                f"The residues are the powers $g, g^2, \\dots, g^{{{last}}}$ of one primitive root "
                f"$g$, and $g^k$ is a primitive root when $k$ is coprime to ${last} = "
                f"{product_text(factors)}$. There are $\\varphi({last}) = {answer}$ such $k$."
            )
        elif ask == "smallest":
            answer, refused = 2, []
            while True:
                for q in factors:
                    if pow(answer, last // q, prime) == 1:
                        refused.append(f"${_power(answer, last // q)} \\equiv 1$")
                        break
                else:
                    break
                answer += 1
            checks = ", ".join(
                f"${_power(answer, last // q)} \\equiv {pow(answer, last // q, prime)}$"
                for q in factors
            )
            steps = (
                f"${last} = {product_text(factors)}$; a primitive root has no power to the "
                f"exponent ${last}$ divided by a prime that is 1. Modulo ${prime}$: "
                + (f"smaller numbers fail, as {', '.join(refused)}, but " if refused else "")
                + f"{checks}, none of them 1."
            )
        elif ask == "order":
            order = base.chosen(rng, [d for d in divisors(last) if d > 2])
            values["order"] = order
            answer = phi(order)
            steps = (
                f"${order}$ divides ${last}$. In terms of a primitive root $g$ the residue $g^k$ "
                f"has this order when the greatest common divisor of $k$ and ${last}$ is "
                f"${last // order}$, and there are $\\varphi({order}) = {answer}$ such $k$."
            )
        else:
            order = base.whole(rng, 2, min(last - 1, 30))
            while math.gcd(order, last) == 1:  # ends at an even number at the latest
                order += 1
            values["order"] = order
            common = math.gcd(order, last)
            answer = last // common
            steps = (
                f"In terms of a primitive root $g$ the powers are $g^{{{order}k}}$, and their "
                f"exponents are the multiples of $\\gcd({order}, {last}) = {common}$ modulo "
                f"${last}$. There are ${last} \\div {common} = {answer}$ of these."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(answer), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        prime = values["prime"]
        if prime not in PRIMES:
            return None
        if ask == "power":
            order = values["order"]
            return gold.integer(len({pow(x, order, prime) for x in range(1, prime)}))
        order = values.get("order", prime - 1)
        parts = [order // d for d in range(2, order + 1) if order % d == 0]
        found = [
            a
            for a in range(1, prime)
            if pow(a, order, prime) == 1 and all(pow(a, part, prime) != 1 for part in parts)
        ]
        return gold.integer(found[0] if ask == "smallest" else len(found))


def _power(base_: int, exponent: int) -> str:
    return str(base_) if exponent == 1 else f"{base_}^{{{exponent}}}"
