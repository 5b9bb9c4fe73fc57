"""Powers to a modulus."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class ModularPower(Family):
    """The remainder of a power on division by a number."""

    name = "modular-power"
    tag = "number-theory/modular-arithmetic"
    wordings = Wordings(
        remainder=(
            "What is the remainder when $<number>^{<exponent>}$ is divided by $<modulus>$?",
            "Find the remainder of $<number>^{<exponent>}$ on division by $<modulus>$.",
        ),
        residue=(
            "Which integer $r$ with $0 \\le r < <modulus>$ satisfies "
            "$<number>^{<exponent>} \\equiv r \\pmod{<modulus>}$?",
            "Modulo $<modulus>$ the power $<number>^{<exponent>}$ is congruent to exactly one "
            "integer that is at least $0$ and less than $<modulus>$. Which one?",
        ),
    )

    modulus: Ends = dial(9, 200, "largest modulus", least=8)
    exponent: Ends = dial(8, 3000, "largest exponent", least=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        modulus = base.whole(rng, 5, base.slow_start(self.modulus, difficulty))
        number = base.whole(rng, 2, modulus - 2)
        exponent = base.whole(rng, 4, base.slow_start(self.exponent, difficulty))
        power, reached, steps = number, 1, []
        for digit in f"{exponent:b}"[1:]:  # from the left: square, then multiply
            square = power * power
            reached *= 2
            steps.append(f"${number}^{{{reached}}} \\equiv {power}^2 \\equiv {square % modulus}$")
            power = square % modulus
            if digit == "1":
                reached += 1
                steps.append(
                    f"${number}^{{{reached}}} \\equiv {power} \\cdot {number} \\equiv "
                    f"{power * number % modulus}$"
                )
                power = power * number % modulus
        ask = base.chosen(rng, ("remainder", "residue"))
        return Drawn(
            ask=ask,
            values={"number": number, "exponent": exponent, "modulus": modulus},
            gold=gold.integer(power),
            steps=f"Square and multiply modulo ${modulus}$: {', '.join(steps)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number, exponent, modulus = values["number"], values["exponent"], values["modulus"]
        seen: dict[int, int] = {}
        powers: list[int] = []
        power = 1 % modulus
        while power not in seen and len(powers) <= exponent:  # until the powers repeat
            seen[power] = len(powers)
            powers.append(power)
            power = power * number % modulus
        if exponent >= len(powers):
            start = seen[power]
            exponent = start + (exponent - start) % (len(powers) - start)
        return gold.integer(powers[exponent])
