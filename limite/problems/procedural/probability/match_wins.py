"""Matches that are decided by a number of won games."""

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

_MATCH = (
    "<one> and <other> play games until one of them has won $<goal>$ games and with that the "
    "match. <one> wins each game with probability $<chance:ratio>$, independently of the others, "
    "and no game is drawn."
)


@attrs.frozen(kw_only=True)
class MatchWins(Family):
    """Who wins a match of several games, in how many games, and from which score."""

    name = "match-wins"
    tag = "probability/binomial"
    wordings = Wordings(
        words={"one": ("Ana", "Ines", "Mara", "Noor"), "other": ("Luc", "Tom", "Emil", "Ravi")},
        win=(f"{_MATCH} What is the probability that <one> wins the match?",),
        length=(f"{_MATCH} What is the expected number of games?",),
        exactly=(
            f"{_MATCH} What is the probability that the match takes exactly $<games>$ games?",
        ),
        behind=(
            f"{_MATCH} So far <one> has won $<mine>$ and <other> $<theirs>$ of the games. What is "
            "the probability that <one> wins the match?",
        ),
    )

    goal: Ends = dial(2, 4, "how many games must be won", least=2, most=8)
    parts: Ends = dial(4, 10, "largest denominator of the chance", least=3, most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        goal = base.whole_near(rng, base.steady(self.goal, difficulty))
        parts = base.whole(rng, 3, base.steady(self.parts, difficulty) + 1)
        chance = Fraction(base.whole(rng, 1, parts - 1), parts)
        ask = base.rising(rng, ("behind", "win", "exactly", "length"), difficulty)
        values: dict[str, Any] = {"goal": goal, "chance": chance}
        hits, parts = chance.numerator, chance.denominator
        misses = parts - hits
        mine = theirs = 0
        if ask == "behind":
            mine, theirs = base.whole(rng, 0, goal - 1), base.whole(rng, 0, goal - 1)
            if not mine and not theirs:
                theirs = 1
            values |= {"mine": mine, "theirs": theirs}
        if mine == theirs and ask in ("win", "behind") and 2 * hits == parts:
            hits, parts, misses = 1, 3, 2  # equal chances would be seen at once
            values["chance"] = Fraction(1, 3)
        need, allowed = goal - mine, goal - theirs
        games = range(need, need + allowed)
        # Over parts^games: the last game is won, and the losses lie anywhere before.
        wins = [
            math.comb(each - 1, need - 1) * hits**need * misses ** (each - need) for each in games
        ]
        if ask in ("win", "behind"):
            shown = ", ".join(
                f"in ${each}$: $\\frac{{{weight}}}{{{parts**each}}}$"
                for each, weight in zip(games, wins, strict=True)
            )
            found = sum(
                (Fraction(weight, parts**each) for each, weight in zip(games, wins, strict=True)),
                Fraction(0),
            )
            more = "more " if ask == "behind" else ""
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(found),
                steps=f"To win the match in $n$ {more}games, the last one must be won, and "
                f"${need - 1}$ of the $n - 1$ before: $\\binom{{n - 1}}{{{need - 1}}}$ orders, "
                "each "
                f"with probability $\\left(\\frac{{{hits}}}{{{parts}}}\\right)^{{{need}}}"
                f"\\left(\\frac{{{misses}}}{{{parts}}}\\right)^{{n - {need}}}$. This gives "
                f"{shown}. These are added up.".replace("^{1}", ""),
            )
        losses = [
            math.comb(each - 1, need - 1) * misses**need * hits ** (each - need) for each in games
        ]
        ends = [
            Fraction(win + loss, parts**each)
            for each, win, loss in zip(games, wins, losses, strict=True)
        ]
        rule = (
            f"The match ends after $n$ games if its winner wins the last one and ${need - 1}$ of "
            f"the $n - 1$ before. Over the denominator ${parts}^n$, "
        )
        if ask == "exactly":
            number = base.whole(rng, goal, 2 * goal - 1)
            place = number - goal
            return Drawn(
                ask=ask,
                values={**values, "games": number},
                gold=gold.rational(ends[place]),
                steps=f"{rule}for $n = {number}$ the first one's wins count ${wins[place]}$ and "
                f"the second one's ${losses[place]}$, over ${parts}^{{{number}}} = "
                f"{parts**number}$.",
            )
        shown = ", ".join(
            f"for $n = {each}$: ${win} + {loss}$ over ${parts**each}$"
            for each, win, loss in zip(games, wins, losses, strict=True)
        )
        found = sum((each * end for each, end in zip(games, ends, strict=True)), Fraction(0))
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.rational(found),
            steps=f"{rule}the wins of the first and of the second count, {shown}. The expected "
            f"number is the sum of each $n$ times its probability.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Game after game: the weight of every score that does not end the match.
        goal, chance = values["goal"], values["chance"]
        hits, parts = chance.numerator, chance.denominator
        scores = {(values.get("mine", 0), values.get("theirs", 0)): 1}
        if ask != "behind":
            scores = {(0, 0): 1}
        won, length = Fraction(0), Fraction(0)
        ended: list[Fraction] = [Fraction(0)]
        total = 1
        while scores:
            length += Fraction(sum(scores.values()), total)  # one more game is played
            total *= parts
            after: dict[tuple[int, int], int] = {}
            win = loss = 0
            for (mine, theirs), weight in scores.items():
                if mine + 1 == goal:
                    win += weight * hits
                else:
                    key = (mine + 1, theirs)
                    after[key] = after.get(key, 0) + weight * hits
                if theirs + 1 == goal:
                    loss += weight * (parts - hits)
                else:
                    key = (mine, theirs + 1)
                    after[key] = after.get(key, 0) + weight * (parts - hits)
            won += Fraction(win, total)
            ended.append(Fraction(win + loss, total))
            scores = after
        if ask == "length":
            return gold.rational(length)
        if ask == "exactly":
            games = values["games"]
            return gold.rational(ended[games] if games < len(ended) else 0)
        return gold.rational(won)
