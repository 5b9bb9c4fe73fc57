"""Whether a number is a square to a prime modulus."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import PRIMES
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class LegendreSymbol(Family):
    """Whether a number is a square to a prime modulus, as a yes or no or as a symbol."""

    name = "legendre-symbol"
    tag = "number-theory/quadratic-residues"
    wordings = Wordings(
        symbol=(
            "Compute the Legendre symbol $\\left(\\frac{<number>}{<prime>}\\right)$.",
            "The number $<prime>$ is prime. Find the value of the Legendre symbol "
            "$\\left(\\frac{<number>}{<prime>}\\right)$.",
        ),
        residue=(
            "Is there an integer $x$ such that $x^2 - <number>$ is divisible by the prime "
            "$<prime>$? Answer yes or no.",
            "Is $<number>$ a quadratic residue modulo the prime $<prime>$? Answer yes or no.",
        ),
        count=(
            "How many integers $x$ with $0 \\le x < <prime>$ satisfy $x^2 \\equiv <number> "
            "\\pmod{<prime>}$? The modulus is prime.",
        ),
    )

    prime: Ends = dial(6, 75, "how many odd primes are in use, from 3 on", least=6, most=75)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        prime = PRIMES[base.whole(rng, 4, base.slow_start(self.prime, difficulty))]
        number = base.whole(rng, 2, prime - 2)
        square = rng.random() < 0.5  # by Euler's criterion; numbers drawn plainly favour no
        for _ in range(prime):
            fits = (pow(number, prime // 2, prime) == 1) == square
            if fits and math.isqrt(number) ** 2 != number:
                break
            number = number + 1 if number < prime - 1 else 2
        ask = base.chosen(rng, ("symbol", "residue", "count"))
        symbol, steps, composite = _by_reciprocity(number, prime)
        answer = {
            "symbol": gold.integer(symbol),
            "residue": gold.boolean(symbol == 1),
            "count": gold.integer(1 + symbol),
        }[ask]
        text = " ".join(steps)
        if composite:
            text = f"Where the lower number is not prime, take the Jacobi symbol. {text}"
        if ask != "symbol":
            text += f" So ${number}$ is {'a' if symbol == 1 else 'no'} square modulo ${prime}$" + (
                ", and $x$ and $-x$ are different solutions." if symbol == 1 else "."
            )
        return Drawn(ask=ask, values={"number": number, "prime": prime}, gold=answer, steps=text)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number, prime = values["number"], values["prime"]
        if number % prime == 0 or prime not in PRIMES[1:]:
            return None
        count = sum((x * x - number) % prime == 0 for x in range(prime))
        if ask == "symbol":
            return gold.integer(count - 1)
        return gold.boolean(count > 0) if ask == "residue" else gold.integer(count)


def _symbol(top: int, bottom: int) -> str:
    return f"\\left(\\frac{{{top}}}{{{bottom}}}\\right)"


def _by_reciprocity(top: int, bottom: int) -> tuple[int, list[str], bool]:
    """The Jacobi symbol, with a sentence for every step of the law of quadratic reciprocity."""
    sign, steps, composite = 1, [], False
    while True:
        whole = _symbol(top, bottom)
        if top >= bottom:
            steps.append(f"${whole} = {_symbol(top % bottom, bottom)}$ by the remainder.")
            top %= bottom
            whole = _symbol(top, bottom)
        root = math.isqrt(top)
        if root * root == top:
            steps.append(f"${whole} = 1$, because ${top} = {root}^2$.")
            break
        if top == bottom - 1:
            value = 1 if bottom % 4 == 1 else -1
            sign *= value
            steps.append(
                f"${whole} = {_symbol(-1, bottom)} = {value}$, because ${bottom}$ leaves the "
                f"remainder ${bottom % 4}$ on division by $4$."
            )
            break
        twos = 0
        while top % 2 == 0:
            top //= 2
            twos += 1
        if twos:
            value = 1 if bottom % 8 in (1, 7) or twos % 2 == 0 else -1
            sign *= value
            steps.append(
                f"${whole} = {'-' if value < 0 else ''}{_symbol(top, bottom)}$, because "
                + (
                    f"${2**twos}$ is a square."
                    if twos % 2 == 0
                    else f"${bottom}$ leaves the remainder ${bottom % 8}$ on division by $8$."
                )
            )
            if top == 1:
                break
        value = -1 if top % 4 == bottom % 4 == 3 else 1
        sign *= value
        steps.append(
            f"${_symbol(top, bottom)} = {'-' if value < 0 else ''}{_symbol(bottom, top)}$ by "
            f"quadratic reciprocity (the remainders on division by $4$ are ${top % 4}$ and "
            f"${bottom % 4}$)."
        )
        top, bottom = bottom, top
        composite = composite or bottom not in PRIMES
    steps.append(f"All signs together give ${sign}$.")
    return sign, steps, composite
