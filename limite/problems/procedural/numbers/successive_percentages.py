"""A price that is raised and lowered by percentages, one after the other."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_THINGS = ("coat", "bicycle", "lamp", "table", "radio", "guitar", "tent", "clock")


@attrs.frozen(kw_only=True)
class SuccessivePercentages(Family):
    """The price of a thing after several changes by percentages, or before them."""

    name = "successive-percentages"
    tag = "arithmetic/percentages"
    wordings = Wordings(
        words={"thing": _THINGS},
        after=(
            "A <thing> costs $<start>$ crowns. Its price changes as in this list, each number "
            "being the change in percent of the price just before it: $<changes:integers>$. What "
            "does it cost then, in crowns?",
            "The price of a <thing> is $<start>$ crowns. What is it, in crowns, after all changes "
            "of this list, each in percent of the price just before it: $<changes:integers>$?",
        ),
        before=(
            "The price of a <thing> changes as in this list, each number being the change in "
            "percent of the price just before it: $<changes:integers>$. Then the <thing> costs "
            "$<end:ratio>$ crowns. What did it cost at first, in crowns?",
        ),
    )

    changes: Ends = dial(1, 4, "how many changes", most=8)
    backwards: Ends = dial(0, 0.7, "share that asks for the first price", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        backwards = rng.random() < base.steady(self.backwards, difficulty)
        count = base.whole_near(rng, base.steady(self.changes, difficulty))
        changes = [_change(rng) for _ in range(count)]
        start = 20 * base.whole(rng, 2, 50)
        price, steps = Fraction(start), []
        for change in changes:
            after = price * (100 + change) / 100
            steps.append(
                f"${ratio_text(price)} \\cdot {ratio_text(Fraction(100 + change, 100))} = "
                f"{ratio_text(after)}$"
            )
            price = after
        if backwards:
            factor = price / start
            return Drawn(
                ask="before",
                values={"changes": changes, "end": price},
                gold=gold.integer(start),
                steps=f"The whole list multiplies by ${ratio_text(factor)}$, so the price "
                f"before was ${ratio_text(price)} \\div {ratio_text(factor)} = {start}$.",
            )
        return Drawn(
            ask="after",
            values={"start": start, "changes": changes},
            gold=gold.rational(price),
            steps=f"Multiply by the factor of each change: {', '.join(steps)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # In hundredths of hundredths: whole numbers over one power of a hundred, divided last.
        changes = values["changes"]
        factor = 1
        for change in reversed(changes):
            factor *= 100 + change
        whole = 100 ** len(changes)
        if ask == "after":
            return gold.rational(Fraction(values["start"] * factor, whole))
        start = values["end"] * whole / factor
        return gold.integer(int(start)) if start.denominator == 1 else None


def _change(rng: random.Random) -> int:
    """A multiple of five from -50 to 50, and not zero."""
    size = 5 * base.whole(rng, 1, 10)
    return -size if rng.random() < 0.5 else size
