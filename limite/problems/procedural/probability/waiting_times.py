"""How long until something happens."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.probability.linear import solved
from limite.problems.procedural.wording import Wordings, ratio_text

_COIN = "A coin shows heads (H) with probability $<chance:ratio>$ and tails (T) otherwise."


@attrs.frozen(kw_only=True)
class WaitingTimes(Family):
    """How long it takes until a success, several successes or a pattern of tosses."""

    name = "waiting-times"
    tag = "probability/waiting-times"
    wordings = Wordings(
        first=(
            "A game is won with probability $<chance:ratio>$ each time, independently. What is the "
            "probability that game number $<number>$ is the first that is won?",
        ),
        later=(
            "A game is won with probability $<chance:ratio>$ each time, independently. What is the "
            "probability that none of the first $<number>$ games is won?",
        ),
        successes=(
            "A game is won with probability $<chance:ratio>$ each time, independently, and is "
            "played until it has been won $<number>$ times. What is the expected number of games?",
        ),
        pattern=(
            f"{_COIN} It is tossed until the tosses <pattern:word> appear one right after the "
            "other in this order. What is the expected number of tosses?",
            f"{_COIN} How many tosses are needed on average until the last tosses read "
            "<pattern:word>?",
        ),
        run=(
            "A fair die with faces numbered from $1$ to $<faces>$ is rolled until it has shown the "
            "number $1$ in $<number>$ rolls one right after the other. What is the expected number "
            "of rolls?",
        ),
    )

    number: Ends = dial(2, 4, "length of a pattern, or how many successes", least=2, most=6)
    parts: Ends = dial(7, 18, "largest denominator of a chance", least=3, most=40)
    patterns: Ends = dial(0, 0.8, "share that waits for patterns", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        number = base.whole_near(rng, base.steady(self.number, difficulty))
        parts = base.whole(rng, 2, base.steady(self.parts, difficulty) + 2)
        chance = Fraction(base.whole(rng, 1, parts - 1), parts)
        miss = 1 - chance
        if rng.random() < base.steady(self.patterns, difficulty):
            if rng.random() < 0.3:
                return _run(number, base.whole(rng, 3, 8 + 12 * difficulty))
            fair = rng.random() < 0.4
            return _pattern(rng, number, Fraction(1, 2) if fair else chance)
        ask = base.rising(rng, ("later", "first", "successes"), difficulty)
        values = {"chance": chance, "number": number}
        if ask == "first":
            found = miss ** (number - 1) * chance
            steps = (
                f"{'The game' if number == 2 else f'The ${number - 1}$ games'} before must be "
                "lost: "
                f"${_power(miss, number - 1)} \\cdot {ratio_text(chance)} = {ratio_text(found)}$."
            )
        elif ask == "later":
            found = miss**number
            steps = (
                f"Each of them is lost with probability ${ratio_text(miss)}$, so all are lost with "
                f"probability ${_power(miss, number)} = {ratio_text(found)}$."
            )
        else:
            found = number / chance
            steps = (
                f"For one win the expected number $E$ satisfies $E = 1 + {ratio_text(miss)} E$, so "
                f"$E = {ratio_text(1 / chance)}$. From one win to the next it is the same again: "
                f"${number} \\cdot {ratio_text(1 / chance)} = {ratio_text(found)}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.rational(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "run":
            return _by_states("H" * values["number"], 1, values["faces"])
        chance = values["chance"]
        top, bottom = chance.numerator, chance.denominator
        if not 0 < top < bottom:
            return None
        if ask == "pattern":
            return _by_states(values["pattern"], top, bottom)
        number = values["number"]
        if ask == "successes":
            # One equation for each number of wins so far, with its next one.
            rows = []
            for won in range(number):
                row = [0] * (number + 1)
                row[won] = top
                if won + 1 < number:
                    row[won + 1] = -top
                row[number] = bottom
                rows.append(row)
            found = solved(rows)
            return gold.rational(found[0]) if found else None
        # What is left after each game, game after game.
        left = Fraction(1)
        for _ in range(number - (ask == "first")):
            left -= left * chance
        return gold.rational(left if ask == "later" else left - left * (1 - chance))


def _pattern(rng: random.Random, number: int, chance: Fraction) -> Drawn:
    pattern = "".join(base.chosen(rng, "HT") for _ in range(number))
    weight = {"H": chance, "T": 1 - chance}
    total, parts, behind = Fraction(0), [], Fraction(1)
    for size in range(1, number + 1):
        behind /= weight[pattern[size - 1]]
        if pattern[:size] == pattern[number - size :]:
            total += behind
            parts.append(f"{pattern[:size]}: ${ratio_text(behind)}$")
    return Drawn(
        ask="pattern",
        values={"chance": chance, "pattern": pattern},
        gold=gold.rational(total),
        steps=f"Let a new gambler come before each toss and bet one coin, fairly, on "
        f"{pattern} toss by toss, leaving all that was won. When {pattern} has appeared, those "
        "still "
        f"in the game are the ones whose bets so far, a beginning of {pattern}, are also its end, "
        f"and each holds one over the probability of that beginning: {', '.join(parts)}. The game "
        f"is fair, so the expected number of coins paid, one for each toss, is the sum of these, "
        f"${ratio_text(total)}$.",
    )


def _run(number: int, faces: int) -> Drawn:
    expected, parts = 0, []
    for each in range(1, number + 1):
        before = expected
        expected = faces * (before + 1)
        parts.append(f"$E_{each} = {faces} \\cdot ({before} + 1) = {expected}$")
    return Drawn(
        ask="run",
        values={"faces": faces, "number": number},
        gold=gold.rational(expected),
        steps=f"Let $E_k$ be the expected number of rolls until there are $k$ in a row. After "
        f"$k - 1$ in a row, one more roll succeeds with probability $\\frac{{1}}{{{faces}}}$, and "
        f"otherwise all begins anew: $E_k = E_{{k-1}} + 1 + \\frac{{{faces - 1}}}{{{faces}}} E_k$, "
        f"so $E_k = {faces} (E_{{k-1}} + 1)$. From $E_0 = 0$: {', '.join(parts)}.",
    )


def _by_states(pattern: str, top: int, bottom: int) -> Gold | None:
    """One equation for each number of letters of the pattern that stand at the end."""
    size = len(pattern)
    rows = []
    for kept in range(size):
        row = [0] * (size + 1)
        row[kept] = row[size] = bottom
        for letter, weight in (("H", top), ("T", bottom - top)):
            text = pattern[:kept] + letter
            while not pattern.startswith(text):
                text = text[1:]
            if len(text) < size:
                row[len(text)] -= weight
        rows.append(row)
    found = solved(rows)
    return gold.rational(found[0]) if found else None


def _power(number: Fraction, exponent: int) -> str:
    text = ratio_text(number)
    return text if exponent == 1 else f"\\left({text}\\right)^{{{exponent}}}"
