"""Remainders of factorials to a prime modulus."""

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
class FactorialResidue(Family):
    """The remainder of a factorial, or of products like it, on division by a prime."""

    name = "factorial-residue"
    tag = "number-theory/modular-arithmetic"
    wordings = Wordings(
        factorial=(
            "What is the remainder when $<number>!$ is divided by the prime $<prime>$?",
            "Find the remainder of $<number>!$ on division by the prime number $<prime>$.",
        ),
        scaled=(
            "What is the remainder when $<factor> \\cdot <number>!$ is divided by the prime "
            "$<prime>$?",
            "The number $<prime>$ is prime. Find the remainder of $<factor> \\cdot <number>!$ on "
            "division by it.",
        ),
        product=(
            "The product of all integers from $<low>$ to $<high>$ is divided by the prime "
            "$<prime>$. What is the remainder?",
            "Find the remainder when $<low> \\cdot \\ldots \\cdot <high>$, the product of all "
            "integers from $<low>$ to $<high>$, is divided by the prime $<prime>$.",
        ),
        unknown=(
            "Which residue $x$ satisfies $<number>! \\cdot x \\equiv <factor> \\pmod{<prime>}$? "
            "The modulus is prime.",
            "Solve $<number>! \\cdot x \\equiv <factor>$ for $x$ modulo the prime $<prime>$.",
        ),
    )

    prime: Ends = dial(7, 75, "how many odd primes are in use, from 3 on", least=6, most=75)
    below: Ends = dial(1, 5, "how far below the prime the factorial may stay", least=1, most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        prime = PRIMES[base.whole(rng, 4, base.slow_start(self.prime, difficulty))]
        below = base.whole(rng, 1, base.steady(self.below, difficulty))
        number = prime - below
        ask = base.chosen(rng, ("factorial", "scaled", "product", "unknown"))
        if below < 3 and ask == "factorial":  # always -1 and 1
            ask = "scaled"
        if below == 2 and ask == "product":
            ask = "unknown"
        # Wilson: (p-1)! is -1, and the factors above the number are -1, -2, ...
        residue, missing = prime - 1, list(range(1, below))
        steps = f"By Wilson's theorem ${prime - 1}! \\equiv -1 \\pmod{{{prime}}}$. "
        if missing:
            product = math.prod(-each for each in missing)
            inverse = pow(product, -1, prime)
            residue = -inverse % prime
            steps += (
                f"It is ${number}!$ times "
                f"${' '.join([str(prime - 1), *(f'· {prime - k}' for k in missing[1:])])} \\equiv "
                f"{product}$, and ${product} \\cdot {inverse} \\equiv 1$. So ${number}! \\equiv "
                f"-{inverse} \\equiv {residue}$. "
            ).replace("·", "\\cdot")
        values: dict[str, Any] = {"number": number, "prime": prime}
        if ask == "factorial":
            answer = gold.integer(residue)
        elif ask == "product":
            turns = base.whole(rng, 0, 9)
            high = number + prime * turns
            low = 1 + prime * turns if turns else 2
            values = {"low": low, "high": high, "prime": prime}
            answer = gold.integer(residue)
            if turns:
                steps += (
                    f"The factors ${low}, \\dots, {high}$ are congruent to $1, \\dots, {number}$, "
                    f"so the product is congruent to ${number}!$."
                )
            else:
                steps += f"The product is ${number}!$, as the factor 1 changes nothing."
        else:
            factor = values["factor"] = base.whole(rng, 2, prime - 2)
            if ask == "scaled":
                answer = gold.integer(residue * factor % prime)
                steps += (
                    f"Multiply: ${factor} \\cdot {residue} = {factor * residue} \\equiv "
                    f"{factor * residue % prime}$."
                )
            else:
                found = factor * pow(residue, -1, prime) % prime
                answer = gold.modular(found, prime)
                steps += f"It is solved by ${found}$: ${residue} \\cdot {found} \\equiv {factor}$."
        return Drawn(ask=ask, values=values, gold=answer, steps=steps.strip())

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        prime = values["prime"]
        if prime not in PRIMES:
            return None
        product = 1  # factor by factor
        for factor in range(values.get("low", 2), values.get("high", values.get("number")) + 1):
            product = product * factor % prime
        if ask in ("factorial", "product"):
            return gold.integer(product)
        factor = values["factor"]
        if ask == "scaled":
            return gold.integer(product * factor % prime)
        found = [x for x in range(prime) if (product * x - factor) % prime == 0]
        return gold.modular(found[0], prime) if len(found) == 1 else None
