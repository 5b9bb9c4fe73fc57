"""The first factorial, or sum, that a number divides."""

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
    and_list,
    divisors,
    factorise,
    product_text,
)
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class SmallestFactorial(Family):
    """The smallest whole number whose factorial, or sum up to it, is a multiple of a number."""

    name = "smallest-factorial"
    tag = "number-theory/valuations"
    wordings = Wordings(
        factorial=(
            "Find the smallest positive integer $n$ for which $n!$ is divisible by $<number>$.",
            "What is the smallest positive integer whose factorial is a multiple of $<number>$?",
        ),
        power=(
            "Find the smallest positive integer $n$ for which $n!$ is divisible by "
            "$<base>^{<exponent>}$.",
            "What is the smallest positive integer whose factorial is a multiple of "
            "$<base>^{<exponent>}$?",
        ),
        zeros=(
            "What is the smallest positive integer $n$ for which $n!$ ends in at least "
            "$<exponent>$ zeros?",
            "Find the smallest positive integer whose factorial has at least $<exponent>$ zeros "
            "at its end.",
        ),
        sum=(
            "Find the smallest positive integer $n$ for which $1 + 2 + \\dots + n$ is divisible by "
            "$<number>$.",
            "What is the smallest positive integer $n$ such that the sum of the integers from 1 to "
            "$n$ is a multiple of $<number>$?",
        ),
    )

    number: Ends = dial(60, 5000, "largest number", least=30, most=100_000)
    exponent: Ends = dial(6, 120, "largest exponent", least=3, most=200)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("factorial", "power", "zeros", "sum"))
        if ask == "sum":
            return self._sum(rng, difficulty)
        if ask == "factorial":
            number = base.whole(rng, 12, base.slow_start(self.number, difficulty))
            while max(factors := factorise(number)) == number:
                number += 1
            values = {"number": number}
        else:
            exponent = base.whole(rng, 2, base.steady(self.exponent, difficulty))
            if ask == "power":
                base_ = base.chosen(rng, (2, 3, 5, 6, 7, 12, 20, 30))
                values = {"base": base_, "exponent": exponent}
                factors = {p: e * exponent for p, e in factorise(base_).items()}
            else:
                values, factors = {"exponent": exponent}, {5: exponent}
        rows, answer = [], 0
        for prime, needed in factors.items():
            n, have = 0, 0
            while have < needed:
                n += prime
                rest = n
                while rest % prime == 0:
                    rest //= prime
                    have += 1
            answer = max(answer, n)
            rows.append(
                f"${n}!$ is the first with at least {needed} "
                f"{'factor' if needed == 1 else 'factors'} ${prime}$ (it has {have})"
            )
        start = {
            "factorial": f"${values.get('number')} = {product_text(factors)}$. ",
            "power": "",
            "zeros": "Each zero needs a factor 5 and a factor 2, and factors 2 abound. ",
        }[ask]
        steps = f"{start}Counting through the multiples of each prime: {and_list(rows)}."
        if len(rows) > 1:
            steps += " All of them are needed, so the largest counts."
        return Drawn(ask=ask, values=values, gold=gold.integer(answer), steps=steps)

    def _sum(self, rng: random.Random, difficulty: float) -> Drawn:
        number = base.whole(rng, 5, base.slow_start(self.number, difficulty) / 10 + 20)
        double = 2 * number
        candidates = []
        for part in divisors(double):
            other = double // part
            if math.gcd(part, other) == 1:  # n is 0 modulo one and -1 modulo the other
                n = part * (-pow(part, -1, other) % other) if other > 1 else part
                candidates.append((n or double, part, other))
        n, part, other = min(candidates)
        return Drawn(
            ask="sum",
            values={"number": number},
            gold=gold.integer(n),
            steps=f"The sum is $\\frac{{n(n+1)}}{{2}}$, so $n(n+1)$ must be divisible by "
            f"${double}$. As $n$ and $n+1$ have no common factor, ${double}$ splits into two "
            f"factors without a common one, of which one divides $n$ and the other $n+1$. The "
            f"smallest $n$ comes from ${part} \\cdot {other}$: ${part}$ divides ${n}$ and "
            f"${other}$ divides ${n + 1}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "sum":
            total, n = 0, 0
            while n < 2 * values["number"]:
                n += 1
                total += n
                if total % values["number"] == 0:
                    return gold.integer(n)
            return None
        if ask == "factorial":
            number = values["number"]
        else:
            number = values.get("base", 10) ** values["exponent"]
        # What the factors so far have not used up of the number.
        n = 1
        while number > 1:
            n += 1
            number //= math.gcd(number, n)
        return gold.integer(n)
