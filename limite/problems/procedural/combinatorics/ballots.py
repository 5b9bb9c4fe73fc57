"""Paths and counts of votes that never cross a line."""

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

_AS_STEPS = (
    "Take each vote, letter or point of the first kind as a step to the right and each of the "
    "second kind as a step up. "
)


@attrs.frozen(kw_only=True)
class Ballots(Family):
    """How many orders of votes or steps never let one side get too far ahead."""

    name = "ballots"
    tag = "combinatorics/lattice-paths"
    wordings = Wordings(
        words={
            "one": ("Ana", "Ines", "Mara", "Noor"),
            "other": ("Luc", "Tom", "Emil", "Ravi"),
        },
        line=(
            "How many paths lead from $(0, 0)$ to $(<first>, <second>)$, each step going one unit "
            "to the right or one unit up, that never visit a point above the line "
            "$y = x + <lead>$?",
        ),
        behind=(
            "<one> gets $<first>$ votes and <other> gets $<second>$. The votes are counted one by "
            "one. In how many orders of the votes (only for whom each one is matters) is <one> "
            "never behind <other>?",
            "How many sequences of $<first>$ letters U and $<second>$ letters D have at least as "
            "many letters U as D in each of their beginnings?",
        ),
        ahead=(
            "<one> gets $<first>$ votes and <other> gets $<second>$. The votes are counted one by "
            "one. In how many orders of the votes (only for whom each one is matters) is <one> "
            "ahead of <other> after every single vote, from the first on?",
            "How many sequences of $<first>$ letters U and $<second>$ letters D have more letters "
            "U than D in each of their beginnings, from the first letter on?",
        ),
        points=(
            "In a match <one> scores $<first>$ points and <other> scores $<second>$, one point at "
            "a time. In how many orders can the points have been scored if <other> was never more "
            "than $<lead>$ points ahead?",
        ),
    )

    votes: Ends = dial(4, 11, "most that the winner gets", least=4, most=30)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.votes, difficulty)
        first = base.whole(rng, max(3, int(most) - 4), most)
        ask = base.chosen(rng, ("line", "behind", "ahead", "points"))
        lead = base.whole(rng, 1 if ask == "line" else 2, 3) if ask in ("line", "points") else 0
        second = base.whole(rng, max(2, lead + 1), first - (ask == "ahead") + max(0, lead - 1))
        values = {"first": first, "second": second, "lead": lead}
        start = f"The first vote or letter must be of the first kind, which leaves ${first - 1}$ "
        right, up, line = first, second, lead
        if ask == "ahead":
            right -= 1
            start += f"and ${second}$, and from there on the second kind must never be ahead. "
        else:
            start = ""
        total, bad = math.comb(right + up, up), math.comb(right + up, up - line - 1)
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.integer(total - bad),
            steps=f"{start}{'' if ask == 'line' else _AS_STEPS}$\\binom{{{right + up}}}{{{up}}} = "
            f"{total}$ paths lead to $({right}, {up})$. Those that must not be counted "
            f"reach the line $y = x + {line + 1}$. Reflect them in it from there on: "
            f"they become all the paths to $({up - line - 1}, {right + line + 1})$, and these are "
            f"$\\binom{{{right + up}}}{{{up - line - 1}}} = {bad}$. "
            f"So ${total} - {bad} = {total - bad}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Vote after vote: in how many ways each lead of the second side can have come about.
        first, second = values["first"], values["second"]
        most = {"behind": 0, "ahead": -1}.get(ask, values.get("lead", 0))
        ways = [1] + [0] * second  # by votes for the second, after votes for the first alone
        for ours in range(first + 1):
            for theirs in range(second + 1):
                if theirs and ways[theirs - 1]:
                    ways[theirs] += ways[theirs - 1]
                if theirs - ours > most and ours + theirs > 0:
                    ways[theirs] = 0
        return gold.integer(ways[second])
