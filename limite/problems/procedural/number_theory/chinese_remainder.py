"""Numbers with given remainders."""

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

_MODULI = (3, 4, 5, 7, 9, 11, 13, 16, 17, 19, 23, 25)


@attrs.frozen(kw_only=True)
class ChineseRemainder(Family):
    """A number found from its remainders on division by several numbers."""

    name = "chinese-remainder"
    tag = "number-theory/congruences"
    wordings = Wordings(
        words={
            "who": ("A teacher", "A farmer", "A baker", "A librarian", "A gardener", "A collector"),
            "thing": ("cards", "apples", "rolls", "books", "plants", "stamps"),
        },
        smallest=(
            "Find the smallest positive integer that leaves the remainders <rests:integers> on "
            "division by <moduli:integers>, respectively.",
            "<who> has some <thing>. Divided into rows of <moduli:integers>, respectively, "
            "they leave <rests:integers> over. What is the smallest possible number of <thing>?",
        ),
        above=(
            "Find the smallest integer greater than $<bound>$ that leaves the remainders "
            "<rests:integers> on division by <moduli:integers>, respectively.",
            "<who> has more than $<bound>$ <thing>. Divided into rows of <moduli:integers>, "
            "respectively, they leave <rests:integers> over. What is the smallest possible number "
            "of <thing>?",
        ),
        residue=(
            "An integer $x$ leaves the remainders <rests:integers> on division by "
            "<moduli:integers>, respectively. What is $x$ modulo $<whole>$?",
            "Which residue class modulo $<whole>$ consists of the integers that leave the "
            "remainders <rests:integers> on division by <moduli:integers>, respectively?",
        ),
    )

    moduli: Ends = dial(4, 12, "how many moduli are in use, from 3, 4, 5, 7 on", least=3, most=12)
    count: Ends = dial(2, 3, "how many remainders are given", least=2, most=4)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("smallest", "above", "residue"))
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        room = max(count + 1, base.whole_near(rng, base.steady(self.moduli, difficulty)))
        moduli: list[int] = []
        for modulus in base.shuffled(rng, _MODULI[:room]):
            if len(moduli) < count and all(math.gcd(modulus, other) == 1 for other in moduli):
                moduli.append(modulus)
        whole = math.prod(moduli)
        number = base.whole(rng, max(moduli), whole - 1)
        rests = [number % modulus for modulus in moduli]
        found, step, steps = rests[0], moduli[0], []
        for modulus, rest in zip(moduli[1:], rests[1:], strict=True):
            added = 0
            while (found + step * added) % modulus != rest:
                added += 1
            steps.append(
                f"Of the numbers ${f'{found} + ' if found else ''}{step}k$ the one with "
                f"$k = {added}$ is the first with remainder ${rest}$ on division by ${modulus}$: "
                f"${found + step * added}$."
            )
            found, step = found + step * added, step * modulus
        values: dict[str, Any] = {"moduli": moduli, "rests": rests, "whole": whole}
        answer = gold.modular(number, whole) if ask == "residue" else gold.integer(number)
        if ask == "above":
            bound = whole * base.whole(rng, 1, 9) + base.whole(rng, 0, whole - 1)
            values["bound"] = bound
            turns = -(-(bound + 1 - number) // whole)
            answer = gold.integer(number + turns * whole)
            steps.append(
                f"The others differ by multiples of ${whole}$, and the first beyond ${bound}$ is "
                f"${number} + {turns} \\cdot {whole}$."
            )
        return Drawn(ask=ask, values=values, gold=answer, steps=" ".join(steps))

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        moduli, rests = values["moduli"], values["rests"]
        if any(rest >= modulus for rest, modulus in zip(rests, moduli, strict=True)):
            return None
        # Each modulus times the inverse of the others, all at once.
        whole = math.lcm(*moduli)
        if whole != math.prod(moduli):
            return None
        number = 0
        for modulus, rest in zip(moduli, rests, strict=True):
            others = whole // modulus
            number += rest * others * pow(others, -1, modulus)
        number %= whole
        if ask == "residue":
            return gold.modular(number, whole) if values["whole"] == whole else None
        bound = values.get("bound", 0)
        if number <= bound:
            number += ((bound - number) // whole + 1) * whole
        return gold.integer(number)
