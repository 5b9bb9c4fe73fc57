"""Remainders of towers of powers."""

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
class PowerTower(Family):
    """The last digit, or the remainder, of a power whose exponent is itself a power."""

    name = "power-tower"
    tag = "number-theory/modular-arithmetic"
    wordings = Wordings(
        digit=(
            "What is the last digit of $<bottom>^{<middle>^{<top>}}$?",
            "Find the units digit of $<bottom>^{<middle>^{<top>}}$. (Powers are evaluated from "
            "the top.)",
        ),
        remainder=(
            "Find the remainder when $<bottom>^{<middle>^{<top>}}$ is divided by $<modulus>$. "
            "(Powers are evaluated from the top.)",
            "What remainder does $<bottom>^{<middle>^{<top>}}$ leave on division by $<modulus>$?",
        ),
    )

    size: Ends = dial(5, 30, "largest number in the tower", least=4, most=99)
    modulus: Ends = dial(7, 120, "largest modulus", least=5, most=2000)
    remainders: Ends = dial(0.2, 1, "share that asks for a remainder", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = "remainder" if rng.random() < base.steady(self.remainders, difficulty) else "digit"
        modulus = 10
        if ask == "remainder":
            modulus = base.whole(rng, 4, base.slow_start(self.modulus, difficulty))
        size = base.slow_start(self.size, difficulty)
        bottom = base.whole(rng, 2, size + modulus)
        while bottom % modulus in (0, 1):
            bottom += 1
        middle, top = base.whole(rng, 2, size), base.whole(rng, 3, size + 3)
        powers, power = [1], bottom % modulus
        while power not in powers:
            powers.append(power)
            power = power * bottom % modulus
        start, period = powers.index(power), len(powers) - powers.index(power)
        rest, walk = 1, []
        for _ in range(top):
            rest = rest * middle % period
            walk.append(rest)
        place = start + (rest - start) % period
        answer = powers[place]
        listing = ", ".join(map(str, powers[1:] if start else powers))
        steps = (
            (
                f"Modulo ${modulus}$ the powers ${bottom}^{{{1 if start else 0}}}, "
                f"{bottom}^{{{2 if start else 1}}}, \\dots$ are ${listing}$, and from "
                f"exponent ${start}$ on they repeat with period ${period}$. "
            )
            .replace("^{1}", "")
            .replace("^{0}", "^0")
        )
        if period > 1:
            steps += f"The exponent is ${middle}^{{{top}}} \\equiv {rest} \\pmod{{{period}}}$. "
        steps += (
            "The exponent in the question is large enough, so the power is the same as with the "
            f"exponent ${place}$."
        )
        return Drawn(
            ask=ask,
            values={"bottom": bottom, "middle": middle, "top": top, "modulus": modulus},
            gold=gold.integer(answer),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The exponent is built in full: a number of a few hundred digits at most.
        bottom, middle, top = values["bottom"], values["middle"], values["top"]
        if top * middle.bit_length() > 5000:
            return None
        return gold.integer(pow(bottom, middle**top, values.get("modulus", 10)))
