"""A walk between two ends."""

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

_GAME = (
    "<who> plays rounds that are won with probability $<chance:ratio>$, independently. A won round "
    "brings one coin, a lost one costs one coin. The number of coins at the start is $<start>$."
)
_END = "<who> stops when there are $<goal>$ coins, or none."
_WALK = (
    "A frog sits at $<start>$ on the number line. Each jump takes it one unit to the right with "
    "probability $<chance:ratio>$ and one unit to the left otherwise, "
    "independently of the others."
)


@attrs.frozen(kw_only=True)
class GamblersRuin(Family):
    """Whether a walk between two ends reaches one or the other, and how long it takes."""

    name = "gamblers-ruin"
    tag = "probability/random-walks"
    wordings = Wordings(
        words={"who": ("Ana", "Luc", "Mara", "Tom", "Noor", "Ravi")},
        goal=(
            f"{_GAME} {_END} What is the probability of stopping with $<goal>$ coins?",
            f"{_WALK} What is the probability that it reaches $<goal>$ before it reaches $0$?",
        ),
        ruin=(
            f"{_GAME} {_END} What is the probability of stopping with no coins?",
            f"{_WALK} What is the probability that it reaches $0$ before it reaches $<goal>$?",
        ),
        rounds=(
            f"{_GAME} {_END} What is the expected number of rounds played?",
            f"{_WALK} What is the expected number of jumps until it reaches $0$ or $<goal>$?",
        ),
        place=(
            f"{_WALK} What is the probability that it sits at $<goal>$ after exactly $<jumps>$ "
            "jumps?",
        ),
    )

    goal: Ends = dial(3, 8, "where the walk ends", least=3, most=20)
    biased: Ends = dial(0, 0.8, "share of walks that are not fair", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.goal, difficulty)
        goal = base.whole(rng, max(3, int(most) - 3), most)
        start = base.whole(rng, 1, goal - 1)
        chance = Fraction(1, 2)
        if rng.random() < base.steady(self.biased, difficulty):
            parts = base.whole(rng, 3, 5)
            hits = base.whole(rng, 1, parts - 1)
            chance = Fraction(hits, parts)
        ask = base.rising(rng, ("place", "goal", "ruin", "rounds"), difficulty)
        values = {"start": start, "goal": goal, "chance": chance}
        if ask == "place":
            return _place(rng, start, chance, difficulty)
        odds = (1 - chance) / chance  # of a loss against a win
        if odds == 1:
            reach = Fraction(start, goal)
            steps = (
                f"The game is fair, so the mean place stays ${start}$: with $p$ for reaching "
                f"${goal}$, ${goal} p = {start}$ and $p = {ratio_text(reach)}$."
            )
            rounds = Fraction(start * (goal - start))
            if ask == "rounds":
                steps = (
                    f"Let $T_k$ be the expected number from $k$ on: $T_k = 1 + \\frac{{1}}{{2}} "
                    f"T_{{k-1}} + \\frac{{1}}{{2}} T_{{k+1}}$ with $T_0 = T_{{{goal}}} = 0$. This "
                    f"is solved by $T_k = k ({goal} - k)$, so $T_{{{start}}} = {start} \\cdot "
                    f"{goal - start}$."
                )
        else:
            reach = (1 - odds**start) / (1 - odds**goal)
            steps = (
                f"Let $p_k$ be the probability of reaching ${goal}$ from $k$. From "
                f"$p_k = {ratio_text(chance)} p_{{k+1}} + {ratio_text(1 - chance)} p_{{k-1}}$, "
                f"each difference $p_{{k+1}} - p_k$ is ${ratio_text(odds)}$ times the one before. "
                f"Adding them up from $p_0 = 0$ to $p_{{{goal}}} = 1$, $p_{{{start}}} = "
                f"\\frac{{1 - {_power(odds, start)}}}{{1 - {_power(odds, goal)}}} = "
                f"{ratio_text(reach)}$."
            )
            drift = 2 * chance - 1
            rounds = (goal * reach - start) / drift
            if ask == "rounds":
                mean = goal * reach
                steps += (
                    f" Each step moves the place by ${ratio_text(drift)}$ on average, and the mean "
                    f"of the last place is ${goal} \\cdot {ratio_text(reach)} = "
                    f"{ratio_text(mean)}$,"
                    f" so the expected number is $\\left({ratio_text(mean)} - {start}\\right) : "
                    f"{ratio_text(drift) if drift > 0 else f'({ratio_text(drift)})'}$."
                )
        if ask == "ruin":
            steps += f" The other end is reached with probability $1 - {ratio_text(reach)}$."
        found = {"goal": reach, "ruin": 1 - reach, "rounds": rounds}[ask]
        return Drawn(ask=ask, values=values, gold=gold.rational(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        start, goal, chance = values["start"], values["goal"], values["chance"]
        up, total = chance.numerator, chance.denominator
        down = total - up
        if ask == "place":
            # Jump after jump: the weight of every place.
            weights = {start: 1}
            for _ in range(values["jumps"]):
                after: dict[int, int] = {}
                for place, weight in weights.items():
                    after[place + 1] = after.get(place + 1, 0) + weight * up
                    after[place - 1] = after.get(place - 1, 0) + weight * down
                weights = after
            return gold.rational(Fraction(weights.get(goal, 0), total ** values["jumps"]))
        if not 0 < start < goal or not 0 < up < total:
            return None
        # The value at each place as a_k = m_k a_{k+1} + c_k, eliminated from 0 upwards, with all
        # over a common denominator d_k: total a_k = up a_{k+1} + down a_{k-1} (+ total).
        more = total if ask == "rounds" else 0
        tops, adds, belows = [0], [1 if ask == "ruin" else 0], [1]
        for _ in range(1, goal):
            top, add, below = tops[-1], adds[-1], belows[-1]
            belows.append(total * below - down * top)
            tops.append(up * below)
            adds.append(more * below + down * add)
        value = Fraction(1 if ask == "goal" else 0)
        for place in range(goal - 1, start - 1, -1):
            value = (tops[place] * value + adds[place]) / belows[place]
        return gold.rational(value)


def _power(number: Fraction, exponent: int) -> str:
    text = ratio_text(number)
    if exponent == 1:
        return text
    if number.denominator > 1:
        text = f"\\left({text}\\right)"
    return f"{text}^{{{exponent}}}"


def _place(rng: random.Random, start: int, chance: Fraction, difficulty: float) -> Drawn:
    jumps = base.whole(rng, 3, 5 + 3 * difficulty)
    right = base.whole(rng, 1, jumps - 1)
    ways = 1
    for each in range(right):
        ways = ways * (jumps - each) // (each + 1)
    up, total = chance.numerator, chance.denominator
    down = total - up
    weight = ways * up**right * down ** (jumps - right)
    goal = start + 2 * right - jumps
    return Drawn(
        ask="place",
        values={"start": start, "goal": goal, "chance": chance, "jumps": jumps},
        gold=gold.rational(Fraction(weight, total**jumps)),
        steps=f"To come from ${start}$ to ${goal}$ in ${jumps}$ jumps, ${right}$ must go to the "
        f"right and ${jumps - right}$ to the left, in $\\binom{{{jumps}}}{{{right}}} = {ways}$ "
        f"orders. Each order has probability $\\frac{{{up**right * down ** (jumps - right)}}}"
        f"{{{total**jumps}}}$, so together it is $\\frac{{{weight}}}{{{total**jumps}}}$.",
    )
