"""Handshakes and games that everyone has with everyone."""

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
class Handshakes(Family):
    """How many handshakes or games there are, or how many people there must have been."""

    name = "handshakes"
    tag = "combinatorics/pairs"
    wordings = Wordings(
        words={"people": ("guests", "dancers", "officials", "visitors")},
        all=(
            "$<count>$ <people> meet, and each shakes hands with each other one once. How many "
            "handshakes are there?",
            "$<count>$ teams play in a league, each against each other one once. How many games "
            "are played?",
        ),
        league=(
            "$<count>$ teams play in a league, each against each other one $<times>$ times. How "
            "many games are played?",
        ),
        couples=(
            "$<count>$ couples meet, and everybody shakes hands once with everybody except their "
            "own partner. How many handshakes are there?",
        ),
        groups=(
            "Groups of <people> meet, with these numbers in them: <sizes:integers>. Everybody "
            "shakes hands once with everybody of the other groups, and with nobody of their own. "
            "How many handshakes are there?",
        ),
        backwards=(
            "Each of some <people> shook hands with each other one once, which made $<total>$ "
            "handshakes. How many <people> were there?",
            "In a league each team played each other one once, $<total>$ games in all. How many "
            "teams were there?",
        ),
        home=(
            "In a league each team played each other one twice, $<total>$ games in all. How many "
            "teams were there?",
        ),
        late=(
            "Each of $<count>$ <people> shakes hands once with each other one. Later $<more>$ more "
            "come, and each of these shakes hands once with everybody who was there before and "
            "with each other one who came later. How many handshakes are there in all after the "
            "first ones?",
        ),
    )

    count: Ends = dial(12, 80, "most people or teams", least=6, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.slow_start(self.count, difficulty)
        count = base.whole(rng, max(4, int(most / 3)), most)
        ask = base.rising(
            rng, ("all", "league", "couples", "groups", "backwards", "late", "home"), difficulty
        )
        pairs = count * (count - 1) // 2
        values: dict[str, Any] = {"count": count, "total": pairs}
        steps = (
            f"Each of the ${count}$ has ${count - 1}$ others, and each pair is counted from both "
            f"sides: ${count} \\cdot {count - 1} : 2 = {pairs}$."
        )
        found = pairs
        if ask == "league":
            times = values["times"] = base.whole(rng, 2, 4)
            found = times * pairs
            steps += f" Each pair plays ${times}$ times: ${times} \\cdot {pairs}$."
        elif ask == "couples":
            found = 2 * count * (count - 1)
            steps = (
                f"Each of the ${2 * count}$ people shakes hands with ${2 * count} - 2 = "
                f"{2 * count - 2}$, and each handshake is counted from both sides: "
                f"${2 * count} \\cdot {2 * count - 2} : 2$."
            )
        elif ask == "groups":
            sizes = [base.whole(rng, 2, 3 + most / 4) for _ in range(base.whole(rng, 3, 4))]
            total, left = sum(sizes), sum(sizes)
            parts = []
            for size in sizes[:-1]:
                left -= size
                parts.append((size, left))
            found = sum(size * rest for size, rest in parts)
            values = {"sizes": sizes}
            shown = " + ".join(f"{size} \\cdot {rest}" for size, rest in parts)
            steps = (
                f"Of the ${total}$ people, let one group after the other shake hands with all "
                f"groups that come behind it: "
                f"${shown}$."
            )
        elif ask in ("backwards", "home"):
            twice = 2 * pairs
            values = {"total": pairs if ask == "backwards" else twice}
            found = count
            half = f"$n (n - 1) : 2 = {pairs}$, so $n (n - 1) = {twice}$"
            steps = (
                f"With $n$ of them, {half if ask == 'backwards' else f'$n (n - 1) = {twice}$'}. "
                f"Two numbers next to each other with this product are ${count} \\cdot "
                f"{count - 1} = {twice}$."
            )
        elif ask == "late":
            more = values["more"] = base.whole(rng, 2, most / 2)
            among = more * (more - 1) // 2
            found = count * more + among
            steps = (
                f"The ${more}$ shake hands with ${count}$ each: ${count} \\cdot {more} = "
                f"{count * more}$. Among themselves there are ${more} \\cdot {more - 1} : 2 = "
                f"{among}$ more: ${count * more} + {among}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # One after the other comes and shakes hands with those who are there.
        if ask in ("backwards", "home"):
            wanted, people, made = values["total"] // (1 + (ask == "home")), 1, 0
            while made < wanted:
                made += people
                people += 1
            return gold.integer(people) if made == wanted else None
        if ask == "groups":
            there = made = 0
            for size in values["sizes"]:
                for _ in range(size):
                    made += there
                there += size
            return gold.integer(made)
        count = values["count"]
        if ask == "couples":
            return gold.integer(sum(each - each % 2 for each in range(2 * count)))
        if ask == "late":
            return gold.integer(sum(range(count, count + values["more"])))
        made = sum(range(count))
        return gold.integer(made * values["times"] if ask == "league" else made)
