"""The sum of several dice."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_DICE = (
    "Fair dice with these numbers of faces, each numbered from 1 up, are rolled: <faces:integers>."
)


@attrs.frozen(kw_only=True)
class DiceSums(Family):
    """The probability that the numbers on several dice have a certain sum."""

    name = "dice-sums"
    tag = "probability/dice"
    wordings = Wordings(
        exactly=(
            f"{_DICE} What is the probability that the numbers rolled add up to $<sum>$?",
            f"{_DICE} Find the probability that their sum is exactly $<sum>$.",
        ),
        at_least=(
            f"{_DICE} What is the probability that the numbers rolled add up to at least $<sum>$?",
            f"{_DICE} Find the probability that their sum is $<sum>$ or more.",
        ),
        divisible=(
            f"{_DICE} What is the probability that the sum of the numbers rolled is divisible by "
            "$<sum>$?",
        ),
    )

    dice: Ends = dial(2, 4, "how many dice", least=2, most=6)
    faces: Ends = dial(6, 10, "most faces of a die", least=6, most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.dice, difficulty))
        most = base.steady(self.faces, difficulty)
        faces = [base.whole(rng, 4, most) for _ in range(count)]
        if rng.random() < 0.3:
            faces = [faces[0]] * count
        ways = [1]  # by sum, from the smallest
        for each in faces:
            ways = [
                sum(ways[max(0, place - each + 1) : place + 1])
                for place in range(len(ways) + each - 1)
            ]
        total = math.prod(faces)
        ask = base.rising(rng, ("exactly", "at_least", "divisible"), difficulty)
        if ask == "exactly":
            wanted = base.whole(rng, count + 1, sum(faces) - 1)
            good = [wanted]
        elif ask == "at_least":
            wanted = base.whole(rng, (count + sum(faces)) // 2, sum(faces) - 1)
            good = list(range(wanted, sum(faces) + 1))
        else:
            wanted = base.whole(rng, 3, 5)
            good = [each for each in range(count, sum(faces) + 1) if each % wanted == 0]
        parts = [ways[each - count] for each in good]
        shown = " + ".join(map(str, parts))
        shown += f" = {sum(parts)}" if len(parts) > 1 else ""
        product = " \\cdot ".join(map(str, faces))
        low, high = good[0], good[-1]
        which = f"the sum ${low}$" if low == high else f"the sums ${', '.join(map(str, good))}$"
        return Drawn(
            ask=ask,
            values={"faces": faces, "sum": wanted},
            gold=gold.rational(Fraction(sum(parts), total)),
            steps=f"There are ${product} = {total}$ outcomes, all equally "
            f"likely. Adding die after die, the sums ${count}, \\dots, {sum(faces)}$ come about in "
            f"${', '.join(map(str, ways))}$ ways. For {which} that makes ${shown}$ of ${total}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Outcomes with at most a given sum: by inclusion and exclusion over the dice that would
        # show more than they can.
        faces, wanted = values["faces"], values["sum"]
        signs = {0: 1}
        for each in faces:
            grown = dict(signs)
            for shift, sign in signs.items():
                grown[shift + each] = grown.get(shift + each, 0) - sign
            signs = grown

        def at_most(total: int) -> int:
            return sum(
                sign * math.comb(total - shift, len(faces))
                for shift, sign in signs.items()
                if total >= shift
            )

        if ask == "exactly":
            found = at_most(wanted) - at_most(wanted - 1)
        elif ask == "at_least":
            found = math.prod(faces) - at_most(wanted - 1)
        else:
            found = sum(
                at_most(total) - at_most(total - 1)
                for total in range(wanted, sum(faces) + 1, wanted)
            )
        return gold.rational(Fraction(found, math.prod(faces)))
