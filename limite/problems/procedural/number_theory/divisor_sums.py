"""Sums of multiplicative functions over divisors."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import PRIMES, product_text
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class DivisorSums(Family):
    """A sum over all divisors of a number: of their squares, divisor counts, totients and more."""

    name = "divisor-sums"
    tag = "number-theory/multiplicative-functions"
    wordings = Wordings(
        squares=(
            "Find the sum of the squares of all positive divisors of $<number>$.",
            "Compute $\\sum d^2$, where $d$ runs through the positive divisors of $<number>$.",
        ),
        counts=(
            "Let $\\tau(d)$ be the number of positive divisors of $d$. Find the sum of $\\tau(d)$ "
            "over all positive divisors $d$ of $<number>$.",
            "For every positive divisor $d$ of $<number>$ count the positive divisors of $d$. "
            "What is the sum of all these counts?",
        ),
        totients=(
            "Let $\\varphi$ be Euler's totient function. Find the sum of $d \\cdot \\varphi(d)$ "
            "over all positive divisors $d$ of $<number>$.",
            "Compute $\\sum d\\,\\varphi(d)$, where $d$ runs through the positive divisors of "
            "$<number>$ and $\\varphi$ is Euler's totient function.",
        ),
        moebius=(
            "Let $\\mu$ be the Möbius function. Find the sum of $\\mu(d) \\cdot d$ over all "
            "positive divisors $d$ of $<number>$.",
            "Compute $\\sum \\mu(d)\\,d$, where $d$ runs through the positive divisors of "
            "$<number>$ and $\\mu$ is the Möbius function.",
        ),
        free=(
            "Find the sum of all positive divisors of $<number>$ that are not divisible by the "
            "square of any prime. (The number 1 is one of them.)",
            "Add up the squarefree positive divisors of $<number>$, 1 among them. What is the sum?",
        ),
    )

    size: Ends = dial(40, 20_000, "largest number", least=30)
    kinds: Ends = dial(2, 5, "how many kinds of question are asked", most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        kinds = base.whole(rng, 1, base.steady(self.kinds, difficulty))
        ask = ("squares", "free", "counts", "moebius", "totients")[kinds - 1]
        top = base.slow_start(self.size, difficulty)
        factors: dict[int, int] = {}
        number = 1
        while room := [p for p in PRIMES[:10] if number * p <= top]:
            if number > 11 and len(factors) > 1 and rng.random() < 0.3:
                break
            prime = room[min(int(rng.random() * len(room)), int(rng.random() * len(room)))]
            factors[prime] = factors.get(prime, 0) + 1
            number *= prime
        factors = dict(sorted(factors.items()))
        parts = [_of_power(ask, p, e) for p, e in factors.items()]
        answer = math.prod(parts)
        rows = ", ".join(
            f"${_row(ask, p, e)} = {part}$"
            for (p, e), part in zip(factors.items(), parts, strict=True)
        )
        steps = (
            f"${number} = {product_text(factors)}$, and each divisor is a product of powers, one "
            f"of each prime. What is added up is the product of its values for these powers. So "
            f"add up over the powers of each prime: {rows}"
        )
        if len(parts) > 1:
            signed = [f"({part})" if part < 0 else str(part) for part in parts]
            steps += ", and multiply: $" + " \\cdot ".join(signed) + f" = {answer}$"
        return Drawn(
            ask=ask, values={"number": number}, gold=gold.integer(answer), steps=f"{steps}."
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number = values["number"]
        small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
        found = sorted({*small, *(number // d for d in small)})
        if ask == "squares":
            return gold.integer(sum(d * d for d in found))
        if ask == "counts":
            return gold.integer(sum(d % e == 0 for d in found for e in found))
        # Both functions from what their sums over divisors are: 1 at 1 and else 0, or the number.
        inner: dict[int, int] = {}
        for d in found:
            whole = d if ask == "totients" else int(d == 1)
            inner[d] = whole - sum(inner[e] for e in inner if d % e == 0)
        if ask == "free":
            return gold.integer(sum(d for d in found if inner[d]))
        return gold.integer(sum(d * inner[d] for d in found))


def _of_power(ask: str, prime: int, exponent: int) -> int:
    """The sum over the divisors of one prime power."""
    powers = [1]
    for _ in range(exponent):
        powers.append(powers[-1] * prime)
    if ask == "squares":
        return sum(power * power for power in powers)
    if ask == "counts":
        return (exponent + 1) * (exponent + 2) // 2
    if ask == "free":
        return 1 + prime
    if ask == "moebius":
        return 1 - prime
    return 1 + sum(power * (power - power // prime) for power in powers[1:])


def _row(ask: str, prime: int, exponent: int) -> str:
    """The terms of that sum; powers that add nothing are left out."""
    if ask in ("free", "moebius"):
        return f"1 {'+' if ask == 'free' else '-'} {prime}"
    terms = ["1"]
    for k in range(1, exponent + 1):
        power = prime**k
        terms.append(
            {
                "squares": f"{power}^2",
                "counts": str(k + 1),
                "totients": f"{power} \\cdot {power - power // prime}",
            }[ask]
        )
    return " + ".join(terms)
