"""Independent trials with the same probability of success."""

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

_SCENES = (
    "A bent coin shows heads with probability $<chance:ratio>$ and is tossed $<trials>$ times. "
    "What is the probability that the number of heads is",
    "A player hits each free throw with probability $<chance:ratio>$, whatever the other throws "
    "give. In $<trials>$ throws, what is the probability that the number of hits is",
    "Each of $<trials>$ seeds sprouts with probability $<chance:ratio>$, independently of the "
    "others. What is the probability that the number of seeds that sprout is",
)


@attrs.frozen(kw_only=True)
class BinomialProbability(Family):
    """The probability of a number of successes in independent trials."""

    name = "binomial-probability"
    tag = "probability/binomial"
    wordings = Wordings(
        exactly=[f"{scene} exactly $<number>$?" for scene in _SCENES],
        at_least=[f"{scene} at least $<number>$?" for scene in _SCENES],
        at_most=[f"{scene} at most $<number>$?" for scene in _SCENES],
    )

    trials: Ends = dial(2, 6, "how many trials", least=2, most=12)
    parts: Ends = dial(6, 10, "largest denominator of the chance", least=3, most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        trials = base.whole_near(rng, base.steady(self.trials, difficulty))
        trials = max(2, trials - base.whole(rng, 0, difficulty))
        parts = base.whole(rng, 2, base.steady(self.parts, difficulty))
        hits = base.whole(rng, 1, parts - 1)
        chance = Fraction(hits, parts)
        hits, parts = chance.numerator, chance.denominator
        ask = base.rising(rng, ("exactly", "at_most", "at_least"), difficulty)
        number = base.whole(rng, 1, trials - 1)
        counted = {
            "exactly": range(number, number + 1),
            "at_least": range(number, trials + 1),
            "at_most": range(number + 1),
        }[ask]
        other = len(counted) > trials - len(counted) + 1  # quicker by what is not wanted
        cases = [each for each in range(trials + 1) if (each in counted) != other]
        total = parts**trials
        weights = [
            math.comb(trials, each) * hits**each * (parts - hits) ** (trials - each)
            for each in cases
        ]
        shown = ", ".join(
            f"for ${each}$: $\\binom{{{trials}}}{{{each}}} \\cdot {_power(hits, each)} \\cdot "
            f"{_power(parts - hits, trials - each)} = {weight}$"
            for each, weight in zip(cases, weights, strict=True)
        )
        good = total - sum(weights) if other else sum(weights)
        added = " + ".join(map(str, weights))
        end = f" Together ${added} = {good}$." if len(weights) > 1 else ""
        if other:
            less = f"({added})" if len(weights) > 1 else added
            end = f" These are not wanted, which leaves ${total} - {less} = {good}$."
        return Drawn(
            ask=ask,
            values={"chance": chance, "trials": trials, "number": number},
            gold=gold.rational(Fraction(good, total)),
            steps=f"Over the common denominator ${parts}^{{{trials}}} = {total}$ the numerators "
            f"are, {shown}.{end}",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Trial after trial: the weight of each number of successes.
        chance, number = values["chance"], values["number"]
        hits, misses = chance.numerator, chance.denominator - chance.numerator
        weights = [1]
        for _ in range(values["trials"]):
            weights = [
                before * hits + same * misses
                for before, same in zip([0, *weights], [*weights, 0], strict=True)
            ]
        good = {
            "exactly": weights[number : number + 1],
            "at_least": weights[number:],
            "at_most": weights[: number + 1],
        }[ask]
        return gold.rational(Fraction(sum(good), sum(weights)))


def _power(number: int, exponent: int) -> str:
    return str(number) if exponent == 1 else f"{number}^{{{exponent}}}"
