"""The inverse of a number to a modulus."""

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
class ModularInverse(Family):
    """The number that gives 1 when multiplied by another, to a modulus."""

    name = "modular-inverse"
    tag = "number-theory/modular-arithmetic"
    wordings = Wordings(
        "Find the inverse of $<number>$ modulo $<modulus>$.",
        "Which residue $x$ satisfies $<number>x \\equiv 1 \\pmod{<modulus>}$?",
        "Solve $<number>x \\equiv 1$ for $x$ modulo $<modulus>$.",
    )

    modulus: Ends = dial(20, 400, "largest modulus", least=8)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        modulus = base.whole(rng, 7, base.slow_start(self.modulus, difficulty))
        number = base.whole(rng, 2, modulus - 2)
        while math.gcd(number, modulus) > 1:  # ends at modulus - 1 at the latest
            number += 1
        inverse, steps = _by_euclid(number, modulus)
        return Drawn(
            values={"number": number, "modulus": modulus},
            gold=gold.modular(inverse, modulus),
            steps=f"Divide with remainder until the remainder is 1: {steps}. Going back, "
            f"${number} \\cdot {inverse} = {number * inverse} = "
            f"{number * inverse // modulus} \\cdot {modulus} + 1$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number, modulus = values["number"], values["modulus"]
        for candidate in range(modulus):
            if number * candidate % modulus == 1:
                return gold.modular(candidate, modulus)
        return None


def _by_euclid(number: int, modulus: int) -> tuple[int, str]:
    """The inverse from Euclid's divisions, and the divisions as text."""
    above, below, first, second, steps = modulus, number, 0, 1, []
    while below > 1:
        quotient, rest = divmod(above, below)
        steps.append(f"${above} = {quotient} \\cdot {below} + {rest}$")
        above, below, first, second = below, rest, second, first - quotient * second
    return second % modulus, ", ".join(steps)
