"""Linear congruences."""

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
class LinearCongruence(Family):
    """All solutions of a linear congruence, of which there may be several."""

    name = "linear-congruence"
    tag = "number-theory/congruences"
    wordings = Wordings(
        all=(
            "Find all integers $x$ with $0 \\le x < <modulus>$ and "
            "$<number>x \\equiv <right> \\pmod{<modulus>}$.",
            "Solve $<number>x \\equiv <right> \\pmod{<modulus>}$. Give the set of all solutions "
            "that are at least $0$ and below $<modulus>$.",
        ),
        count=(
            "How many integers $x$ with $0 \\le x < <modulus>$ satisfy "
            "$<number>x \\equiv <right> \\pmod{<modulus>}$?",
        ),
        sum=(
            "Find the sum of all integers $x$ with $0 \\le x < <modulus>$ and "
            "$<number>x \\equiv <right> \\pmod{<modulus>}$.",
        ),
    )

    modulus: Ends = dial(5, 60, "largest modulus before the common factor", least=5, most=1000)
    common: Ends = dial(1, 6, "largest common factor", least=1, most=12)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        common = base.whole(rng, 1, base.steady(self.common, difficulty))
        small = base.whole(rng, 5, base.slow_start(self.modulus, difficulty))
        factor = base.whole(rng, 2, small - 1)
        while math.gcd(factor, small) > 1:  # ends at small - 1 at the latest
            factor += 1
        first = base.whole(rng, 2, small - 1)
        number, modulus = factor * common, small * common
        right = number * first % modulus
        solutions = [first + small * turn for turn in range(common)]
        ask = base.chosen(rng, ("all", "all", "count", "sum")) if common > 1 else "all"
        inverse = pow(factor, -1, small)
        steps = ""
        if common > 1:
            steps = (
                f"Everything is divisible by ${common}$: the congruence says "
                f"${factor}x \\equiv {right // common} \\pmod{{{small}}}$. "
            )
        steps += (
            f"${factor} \\cdot {inverse} \\equiv 1 \\pmod{{{small}}}$, so "
            f"$x \\equiv {inverse} \\cdot {right // common} \\equiv {first} \\pmod{{{small}}}$."
        )
        if common > 1:
            steps += f" Below ${modulus}$ these are ${', '.join(map(str, solutions))}$."
        answer = {
            "all": gold.finite_set(solutions),
            "count": gold.integer(common),
            "sum": gold.integer(sum(solutions)),
        }[ask]
        return Drawn(
            ask=ask,
            values={"number": number, "right": right, "modulus": modulus},
            gold=answer,
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number, right, modulus = values["number"], values["right"], values["modulus"]
        found = [x for x in range(modulus) if (number * x - right) % modulus == 0]
        if ask == "all":
            return gold.finite_set(found)
        return gold.integer(len(found) if ask == "count" else sum(found))
