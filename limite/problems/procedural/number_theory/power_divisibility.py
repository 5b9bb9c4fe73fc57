"""For which exponents a number with a power is divisible."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PowerDivisibility(Family):
    """For which exponents an expression with powers is divisible by a number, and how often."""

    name = "power-divisibility"
    tag = "number-theory/modular-arithmetic"
    wordings = Wordings(
        count=(
            "For how many integers $n$ with $1 \\le n \\le <bound>$ is $<number>^n <plus:text> "
            "<shift>$ divisible by $<modulus>$?",
            "How many positive integers $n$ up to $<bound>$ are there for which $<modulus>$ "
            "divides $<number>^n <plus:text> <shift>$?",
        ),
        smallest=(
            "Find the smallest positive integer $n$ for which $<number>^n <plus:text> <shift>$ is "
            "divisible by $<modulus>$.",
            "What is the smallest positive integer $n$ such that $<modulus>$ divides "
            "$<number>^n <plus:text> <shift>$?",
        ),
        both=(
            "For how many integers $n$ with $1 \\le n \\le <bound>$ is $<number>^n + <other>^n$ "
            "divisible by $<modulus>$?",
            "How many positive integers $n$ up to $<bound>$ are there for which $<modulus>$ "
            "divides $<number>^n + <other>^n$?",
        ),
    )

    modulus: Ends = dial(9, 60, "largest modulus", least=8, most=300)
    bound: Ends = dial(30, 1000, "largest upper end for the exponent", least=20, most=10_000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        modulus = base.whole(rng, 5, base.slow_start(self.modulus, difficulty))
        bound = base.whole(rng, 20, base.slow_start(self.bound, difficulty))
        number = base.whole(rng, 2, modulus - 2)
        while math.gcd(number, modulus) > 1:  # ends at modulus - 1 at the latest
            number += 1
        powers = _powers(number, modulus)
        period = len(powers)
        bound += 2 * period
        if rng.random() < 0.3:
            other = base.whole(rng, 2, modulus - 2)
            while math.gcd(other, modulus) > 1 or other == number:
                other += 1
            more = _powers(other, modulus)
            together = math.lcm(period, len(more))
            hits = [
                n
                for n in range(1, together + 1)
                if (powers[(n - 1) % period] + more[(n - 1) % len(more)]) % modulus == 0
            ]
            if hits and together <= 60:
                count = sum(len(range(n, bound + 1, together)) for n in hits)
                return Drawn(
                    ask="both",
                    values={"number": number, "other": other, "modulus": modulus, "bound": bound},
                    gold=gold.integer(count),
                    steps=f"Modulo ${modulus}$ the powers of ${number}$ repeat "
                    f"${', '.join(map(str, powers))}$ and those of ${other}$ repeat "
                    f"${', '.join(map(str, more))}$, so both together repeat after ${together}$ "
                    f"exponents. In such a period the sum is divisible for "
                    f"$n = {', '.join(map(str, hits))}$, and up to ${bound}$ that makes ${count}$ "
                    f"exponents.",
                )
        place = base.whole(rng, 1, period - 1)
        if place == period - 1 and period > 2:  # the power 1, once more
            place = 1
        residue = powers[place]
        minus = rng.random() < 0.5
        shift = residue if minus else modulus - residue
        values = {
            "number": number,
            "plus": "-" if minus else "+",
            "shift": shift,
            "modulus": modulus,
        }
        steps = (
            f"Modulo ${modulus}$ the powers of ${number}$ are ${', '.join(map(str, powers))}$, "
            f"and so on with period ${period}$. The expression is divisible when the power is "
            f"congruent to ${residue}$"
        )
        if period > 4 and rng.random() < 0.5:  # in short periods it is nearly always 2
            return Drawn(
                ask="smallest",
                values=values,
                gold=gold.integer(place + 1),
                steps=f"{steps}, first for $n = {place + 1}$.",
            )
        count = len(range(place + 1, bound + 1, period))
        return Drawn(
            ask="count",
            values=values | {"bound": bound},
            gold=gold.integer(count),
            steps=f"{steps}, for $n = {place + 1}, {place + 1 + period}, \\dots$. Up to ${bound}$ "
            f"there are ${count}$ of these.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number, modulus = values["number"], values["modulus"]
        other = values.get("other", 1)
        shift = values.get("shift", 0) * (-1 if values.get("plus") == "-" else 1)
        first, second, count = 1, 1, 0
        for n in range(1, values.get("bound", modulus) + 1):
            first = first * number % modulus
            second = second * other % modulus
            if (first + (second if ask == "both" else shift)) % modulus == 0:
                if ask == "smallest":
                    return gold.integer(n)
                count += 1
        return None if ask == "smallest" else gold.integer(count)


def _powers(number: int, modulus: int) -> list[int]:
    """The residues of the powers from the first on, up to the first 1."""
    powers = [number % modulus]
    while powers[-1] != 1:
        powers.append(powers[-1] * number % modulus)
    return powers
