"""Orders of residues, and discrete logarithms."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import factorise, phi
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class MultiplicativeOrder(Family):
    """The smallest exponent for which a power leaves a given remainder."""

    name = "multiplicative-order"
    tag = "number-theory/orders"
    wordings = Wordings(
        order=(
            "Find the smallest positive integer $k$ with $<number>^k \\equiv 1 \\pmod{<modulus>}$.",
            "What is the multiplicative order of $<number>$ modulo $<modulus>$?",
            "Find the smallest positive integer $n$ for which $<number>^n - 1$ is divisible by "
            "$<modulus>$.",
        ),
        logarithm=(
            "Find the smallest positive integer $k$ with "
            "$<number>^k \\equiv <power> \\pmod{<modulus>}$.",
            "What is the smallest positive integer $n$ for which $<number>^n$ leaves the remainder "
            "$<power>$ on division by $<modulus>$?",
        ),
    )

    modulus: Ends = dial(15, 400, "largest modulus", least=8, most=5000)
    logarithms: Ends = dial(0.3, 0.6, "share that asks for another power than 1", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        logarithm = rng.random() < base.steady(self.logarithms, difficulty)
        modulus = base.whole(rng, 7, base.slow_start(self.modulus, difficulty))
        number = base.whole(rng, 2, modulus - 2)
        while math.gcd(number, modulus) > 1:  # ends at modulus - 1 at the latest
            number += 1
        exponent = phi(modulus)
        total, steps = exponent, []
        for prime in factorise(exponent):
            while exponent % prime == 0 and pow(number, exponent // prime, modulus) == 1:
                exponent //= prime
                steps.append(f"${number}^{{{exponent}}} \\equiv 1$")
        refused = [
            f"${number}^{{{exponent // p}}} \\equiv {pow(number, exponent // p, modulus)}$"
            for p in factorise(exponent)
        ]
        if not logarithm or exponent < 4:
            text = (
                f"There are ${total}$ residues coprime to ${modulus}$, so the order divides "
                f"${total}$ by Euler's theorem. Work modulo ${modulus}$. "
            )
            if steps:
                text += f"Dividing by primes while the power stays 1: {', '.join(steps)}. "
            text += f"No smaller divisor of ${exponent}$ will do: {', '.join(refused)}."
            return Drawn(
                ask="order",
                values={"number": number, "modulus": modulus},
                gold=gold.integer(exponent),
                steps=text.replace("^{1}", ""),
            )
        answer = base.whole(rng, 3, exponent - 1)
        power = pow(number, answer, modulus)
        return Drawn(
            ask="logarithm",
            values={"number": number, "modulus": modulus, "power": power},
            gold=gold.integer(answer),
            steps=_giant_steps(number, modulus, power, answer),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number, modulus, aim = values["number"], values["modulus"], values.get("power", 1)
        power = 1
        for exponent in range(1, modulus):
            power = power * number % modulus
            if power == aim:
                return gold.integer(exponent)
        return None


def _giant_steps(number: int, modulus: int, power: int, answer: int) -> str:
    """The first powers as a table, then divisions by the largest of them until one is met."""
    width = max(3, math.isqrt(answer))
    table = [pow(number, k, modulus) for k in range(1, width + 1)]
    text = f"Modulo ${modulus}$ the powers of ${number}$ begin with ${', '.join(map(str, table))}$"
    if power in table:
        return f"{text}, and ${power}$ is met first as number ${answer}$."
    inverse = pow(table[-1], -1, modulus)
    text += (
        f"; ${power}$ is not among them. Dividing by ${number}^{{{width}}}$ is multiplying by "
        f"${inverse}$: from ${power}$ this gives "
    )
    seen, turns = [], 0
    while power not in table:
        power = power * inverse % modulus
        turns += 1
        seen.append(str(power))
    place = table.index(power) + 1
    return (
        f"{text}${', '.join(seen)}$, and the last one is number ${place}$ of the table. So the "
        f"exponent is ${turns} \\cdot {width} + {place}$."
    )
