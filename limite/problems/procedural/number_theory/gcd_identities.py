"""Greatest common divisors of expressions."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import divisors
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class GcdIdentities(Family):
    """The greatest common divisor of powers less one, Fibonacci numbers, or expressions in n."""

    name = "gcd-identities"
    tag = "number-theory/gcd"
    wordings = Wordings(
        powers=(
            "Find the greatest common divisor of $<number>^{<first>} - 1$ and "
            "$<number>^{<second>} - 1$.",
            "Compute $\\gcd(<number>^{<first>} - 1, <number>^{<second>} - 1)$.",
        ),
        fibonacci=(
            "The Fibonacci numbers are $F_1 = F_2 = 1$ and $F_{n+2} = F_{n+1} + F_n$. Find the "
            "greatest common divisor of $F_{<first>}$ and $F_{<second>}$.",
            "Let $F_1 = F_2 = 1$ and $F_{n+2} = F_{n+1} + F_n$ for $n \\ge 1$. Compute "
            "$\\gcd(F_{<first>}, F_{<second>})$.",
        ),
        largest=(
            "What is the largest value that the greatest common divisor of $n^2 + <first>$ and "
            "$n + <second>$ takes for positive integers $n$?",
            "For each positive integer $n$ let $g(n)$ be the greatest common divisor of "
            "$n^2 + <first>$ and $n + <second>$. Find the largest value of $g(n)$.",
        ),
        values=(
            "Which values does the greatest common divisor of $<number>n + <first>$ and "
            "$n + <second>$ take, when $n$ runs through the positive integers? Give the set of "
            "all of them.",
            "Find the set of all values of $\\gcd(<number>n + <first>, n + <second>)$ for positive "
            "integers $n$.",
        ),
    )

    exponent: Ends = dial(12, 60, "largest exponent or index", least=10, most=90)
    shift: Ends = dial(4, 20, "largest constant in an expression in n", least=3, most=30)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("powers", "fibonacci", "largest", "values"))
        if ask in ("powers", "fibonacci"):
            top = base.whole(rng, 9, base.steady(self.exponent, difficulty))
            common = base.whole(rng, 2, min(12, top / 3))
            first, second = base.distinct(rng, 2, 2, top // common)
            if math.gcd(first, second) == min(first, second):  # one would divide the other
                first, second = 2, 3
            first, second = common * first, common * second
            common = math.gcd(first, second)
            chain, above, below = [], max(first, second), min(first, second)
            while below:
                chain.append(f"({above}, {below})")
                above, below = below, above % below
            euclid = "the same steps as Euclid's algorithm on the {}: $"
            euclid += " \\to ".join([*chain, str(above)]) + "$."
            if ask == "powers":
                number = base.whole(rng, 2, 7 if common < 7 else 3)
                answer = number**common - 1
                return Drawn(
                    ask=ask,
                    values={"number": number, "first": first, "second": second},
                    gold=gold.integer(answer),
                    steps=f"For $a > b$ the remainder of ${number}^a - 1$ on division by "
                    f"${number}^b - 1$ is ${number}^r - 1$, where $r$ is the remainder of $a$ on "
                    f"division by $b$. So these are {euclid.format('exponents')} The divisor is "
                    f"${number}^{{{common}}} - 1 = {answer}$.",
                )
            numbers = [0, 1]
            for _ in range(common):
                numbers.append(numbers[-1] + numbers[-2])
            return Drawn(
                ask=ask,
                values={"first": first, "second": second},
                gold=gold.integer(numbers[common]),
                steps="By $F_{m+n} = F_m F_{n+1} + F_{m-1} F_n$ a common divisor of $F_{m+n}$ "
                "and $F_n$ divides $F_m$, since neighbours have no common factor: "
                f"{euclid.format('indices')} The divisor is "
                f"$F_{{{common}}} = {numbers[common]}$.",
            )
        size = base.steady(self.shift, difficulty)
        first, second = base.whole(rng, 1, size), base.whole(rng, 1, size)
        if ask == "largest":
            total = second * second + first
            return Drawn(
                ask=ask,
                values={"first": first, "second": second},
                gold=gold.integer(total),
                steps=f"$n^2 + {first} = (n + {second})(n - {second}) + {total}$, so the divisor "
                f"divides ${total}$. It is ${total}$ when $n + {second}$ is a multiple of "
                f"${total}$, for instance for $n = {total - second}$.",
            )
        number = base.whole(rng, 2, 9)
        rest = first - number * second
        if abs(rest) < 2:
            first += 3
            rest += 3
        size_, sign = abs(rest), "-" if rest < 0 else "+"
        return Drawn(
            ask=ask,
            values={"number": number, "first": first, "second": second},
            gold=gold.finite_set(divisors(size_)),
            steps=f"${number}n + {first} = {number}(n + {second}) {sign} {size_}$, so the divisor "
            f"is the greatest common divisor of $n + {second}$ and ${size_}$. As $n + {second}$ "
            f"can be any large number, it takes every divisor of ${size_}$ as a value.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        first, second = values["first"], values["second"]
        if ask == "powers":
            number = values["number"]
            return gold.integer(math.gcd(number**first - 1, number**second - 1))
        if ask == "fibonacci":
            pair, found = (0, 1), {}
            for index in range(max(first, second) + 1):
                found[index] = pair[0]
                pair = (pair[1], pair[0] + pair[1])
            return gold.integer(math.gcd(found[first], found[second]))
        # Trying n over more than one period of the values.
        if ask == "largest":
            return gold.integer(
                max(
                    math.gcd(n * n + first, n + second)
                    for n in range(1, second * second + first + 1)
                )
            )
        number = values["number"]
        period = abs(first - number * second)
        return gold.finite_set(
            {math.gcd(number * n + first, n + second) for n in range(1, period + 1)}
        )
