"""Solutions of a sum in whole numbers with bounds."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.combinatorics.counting import alternating
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class StarsAndBars(Family):
    """How many ways a number of equal things can be shared out, with bounds for each share."""

    name = "stars-and-bars"
    tag = "combinatorics/distributions"
    wordings = Wordings(
        words={
            "things": ("apples", "marbles", "coins", "stickers", "nuts"),
            "people": ("children", "friends", "pupils", "neighbours"),
        },
        least=(
            "How many solutions does $x_1 + \\dots + x_{<shares>} = <total>$ have in integers "
            "$x_1, \\dots, x_{<shares>}$ that are all at least $<low>$?",
            "In how many ways can $<total>$ identical <things> be shared out among $<shares>$ "
            "<people>, if the number for each must be at least $<low>$? Who gets how many counts.",
        ),
        bounded=(
            "How many solutions does $x_1 + \\dots + x_{<shares>} = <total>$ have in integers "
            "$x_1, \\dots, x_{<shares>}$ that are all at least $<low>$ and at most $<high>$?",
            "In how many ways can $<total>$ identical <things> be shared out among $<shares>$ "
            "<people>, if the number for each must be at least $<low>$ and at most $<high>$? Who "
            "gets how many counts.",
        ),
    )

    shares: Ends = dial(3, 6, "how many shares", least=3, most=10)
    spare: Ends = dial(4, 20, "most that is left to share out freely", least=4, most=60)
    bounded: Ends = dial(0, 0.8, "share with an upper bound", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        shares = base.whole(rng, 3, base.steady(self.shares, difficulty))
        spare = base.whole(rng, 3, base.steady(self.spare, difficulty))
        low = base.whole(rng, 0, 2 + 2 * difficulty)
        total = spare + low * shares
        free = math.comb(spare + shares - 1, shares - 1)
        steps = (
            ""
            if not low
            else (
                f"Give ${low}$ to each first: ${total} - {low * shares} = {spare}$ are left, "
                "without a lower bound. "
            )
        )
        steps += (
            f"${spare}$ equal things and ${shares - 1}$ bars between the shares can be put in a "
            f"row in $\\binom{{{spare + shares - 1}}}{{{shares - 1}}} = {free}$ ways"
        )
        if rng.random() >= base.steady(self.bounded, difficulty):
            return Drawn(
                ask="least",
                values={"shares": shares, "total": total, "low": low},
                gold=gold.integer(free),
                steps=f"{steps}.",
            )
        room = base.whole(rng, spare // shares + 1, spare - 1)  # above the bound for each
        terms = [
            (-1) ** over
            * math.comb(shares, over)
            * math.comb(spare - over * (room + 1) + shares - 1, shares - 1)
            for over in range(spare // (room + 1) + 1)
        ]
        found = sum(terms)
        return Drawn(
            ask="bounded",
            values={"shares": shares, "total": total, "low": low, "high": low + room},
            gold=gold.integer(found),
            steps=f"{steps} while there is no upper bound. Now none may get more than ${room}$ of "
            f"these ${spare}$. With $j$ chosen shares that get ${room + 1}$ or more, take away "
            f"${room + 1}$ from each and count again; by inclusion and exclusion over the "
            f"$\\binom{{{shares}}}{{j}}$ choices, ${alternating(terms)} = {found}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Share after share: in how many ways each total can have been given out.
        total, low = values["total"], values["low"]
        high = values.get("high", total) if ask == "bounded" else total
        ways = [1] + [0] * total
        for _ in range(values["shares"]):
            after = [0] * (total + 1)
            for given, count in enumerate(ways):
                if count:
                    for more in range(low, min(high, total - given) + 1):
                        after[given + more] += count
            ways = after
        return gold.integer(ways[total])
