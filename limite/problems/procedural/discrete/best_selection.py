"""The most valuable things that fit into a bag."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_ITEM = re.compile(r"\$(\d+)\$ kg for \$(\d+)\$")


@attrs.frozen(kw_only=True)
class BestSelection(Family):
    """The largest value of things whose weight does not exceed a limit."""

    name = "best-selection"
    tag = "discrete/optimisation"
    wordings = Wordings(
        words={"place": ("bag", "cart", "boat", "crate")},
        value=(
            "A <place> holds at most $<limit>$ kg. These things can be taken whole or left, each "
            "of them once, with its weight and its value: <items:text>. What is the largest total "
            "value that fits?",
            "From these things, given by weight and value, some are chosen so that they weigh at "
            "most $<limit>$ kg together: <items:text>. They cannot be divided or taken twice. Find "
            "the largest possible total value.",
        ),
        weight=(
            "Parcels weigh $<weights:integers>$ kg. Some of them are put on a scale that takes at "
            "most $<limit>$ kg. How heavy, in kg, is the heaviest load that it can take?",
            "Some of the numbers $<weights:integers>$ are added, each at most once. What is the "
            "largest sum that does not exceed $<limit>$?",
        ),
    )

    items: Ends = dial(3, 8, "how many things", least=3, most=12)
    weight: Ends = dial(9, 25, "largest weight", least=6, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.items, difficulty))
        most = base.steady(self.weight, difficulty)
        weights = [base.whole(rng, 2, most) for _ in range(count)]
        alike = rng.random() < 0.35
        worth = weights if alike else [base.whole(rng, 3, 2 * most) for _ in range(count)]
        total = sum(weights)
        limit = max(min(weights), total * base.whole(rng, 35, 70) // 100)
        # For every limit, the best of the things so far, and which they are.
        best = [0] * (limit + 1)
        taken: list[tuple[int, ...]] = [()] * (limit + 1)
        for item in range(count):
            for room in range(limit, weights[item] - 1, -1):
                value = best[room - weights[item]] + worth[item]
                if value > best[room]:
                    best[room], taken[room] = value, (*taken[room - weights[item]], item)
        chosen = taken[limit]
        heavy = " + ".join(str(weights[item]) for item in chosen)
        used = sum(weights[item] for item in chosen)
        answer = gold.integer(best[limit])
        if alike:
            return Drawn(
                ask="weight",
                values={"weights": weights, "limit": limit},
                gold=answer,
                steps=f"Keep a list of all sums that can be made, thing by thing. The largest that "
                f"does not exceed ${limit}$ is ${heavy}$.",
            )
        worths = " + ".join(str(worth[item]) for item in chosen)
        return Drawn(
            ask="value",
            values={
                "limit": limit,
                "items": ", ".join(
                    f"${one}$ kg for ${other}$" for one, other in zip(weights, worth, strict=True)
                ),
            },
            gold=answer,
            steps=f"Keep the best value for every limit from $1$ to ${limit}$ kg, thing by thing. "
            f"At the end the best choice weighs ${heavy}{f' = {used}' if len(chosen) > 1 else ''}$ "
            f"kg and is worth ${worths}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Every choice.
        if ask == "weight":
            items = [(weight, weight) for weight in values["weights"]]
        else:
            items = [(int(one), int(other)) for one, other in _ITEM.findall(values["items"])]
        choices = [(0, 0)]
        for weight, worth in items:
            choices += [(one + weight, other + worth) for one, other in choices]
        return gold.integer(max(other for one, other in choices if one <= values["limit"]))
