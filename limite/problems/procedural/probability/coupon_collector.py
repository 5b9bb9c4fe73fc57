"""Collecting all kinds of pictures."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.combinatorics.counting import alternating
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_PACKS = "Each pack of <food> holds one picture, each of $<kinds>$ kinds with the same probability."


@attrs.frozen(kw_only=True)
class CouponCollector(Family):
    """How many packs it takes to collect pictures of every kind, or of some."""

    name = "coupon-collector"
    tag = "probability/waiting-times"
    wordings = Wordings(
        words={
            "food": ("tea", "rice", "biscuits", "oats", "noodles"),
            "who": ("Ana", "Luc", "Mara", "Tom", "Noor", "Ravi"),
        },
        all=(
            f"{_PACKS} How many packs must <who> buy on average to have all $<kinds>$ kinds?",
            "A fair die with faces numbered from $1$ to $<kinds>$ is rolled until every number has "
            "come up. What is the expected number of rolls?",
        ),
        more=(
            f"{_PACKS} <who> has $<have>$ of the kinds already and wants to have $<want>$. How "
            "many more "
            "packs does this take on average?",
            "A fair die with faces numbered from $1$ to $<kinds>$ is rolled. So far, the count of "
            "different numbers that have come up is $<have>$. How many more rolls does it take on "
            "average until it is $<want>$?",
        ),
        chance=(
            f"{_PACKS} <who> buys $<packs>$ packs. What is the probability of having all $<kinds>$ "
            "kinds then?",
            "A fair die with faces numbered from $1$ to $<kinds>$ is rolled $<packs>$ times. What "
            "is the probability that every number comes up?",
        ),
        unequal=(
            "A spinner stops in one of several fields, numbered $1, 2, \\dots$, with these "
            "probabilities, in order: $<chances:ratios>$. It is spun until it has stopped in every "
            "field. What is the expected number of spins?",
        ),
    )

    kinds: Ends = dial(4, 12, "how many kinds", least=3, most=20)
    unequal: Ends = dial(0, 0.5, "share with kinds of different chances", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.kinds, difficulty)
        kinds = base.whole(rng, max(3, int(most) - 5), most)
        if rng.random() < base.steady(self.unequal, difficulty):
            return _unequal(rng, difficulty)
        ask = base.rising(rng, ("all", "more", "more", "chance"), difficulty)
        if ask == "chance":
            kinds = base.whole(rng, 3, 4 + 2 * difficulty)
            packs = base.whole(rng, kinds + 1, kinds + 2 + 2 * difficulty)
            terms = [
                (-1) ** less * math.comb(kinds, less) * (kinds - less) ** packs
                for less in range(kinds)
            ]
            total = kinds**packs
            return Drawn(
                ask=ask,
                values={"kinds": kinds, "packs": packs},
                gold=gold.rational(Fraction(sum(terms), total)),
                steps=f"There are ${kinds}^{{{packs}}} = {total}$ equally likely outcomes. With "
                "$j$ "
                f"chosen kinds missing there are $({kinds} - j)^{{{packs}}}$, and by inclusion and "
                f"exclusion ${alternating(terms)} = {sum(terms)}$ have no kind missing.",
            )
        have, want = 0, kinds
        if ask == "more":
            have = base.whole(rng, 1, kinds - 2)
            want = base.whole(rng, have + 2, kinds)
        waits = [Fraction(kinds, kinds - each) for each in range(have, want)]
        found = sum(waits, Fraction(0))
        return Drawn(
            ask=ask,
            values={"kinds": kinds, "have": have, "want": want},
            gold=gold.rational(found),
            steps=f"With $k$ kinds so far, a new one comes with probability $\\frac{{{kinds} - k}}"
            f"{{{kinds}}}$, which takes $\\frac{{{kinds}}}{{{kinds} - k}}$ on average. For $k = "
            f"{have}$ to ${want - 1}$ these add up: ${' + '.join(map(ratio_text, waits))} = "
            f"{ratio_text(found)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "unequal":
            chances = values["chances"]
            if sum(chances) != 1:
                return None
            # From the last field backwards: the expected number of spins for each set of fields
            # that are still missing.
            size = len(chances)
            bottom = math.lcm(*(chance.denominator for chance in chances))
            weights = [int(chance * bottom) for chance in chances]
            expected = [Fraction(0)] * (1 << size)
            for missing in range(1, 1 << size):
                total, after = 0, Fraction(bottom)
                for field in range(size):
                    if missing >> field & 1:
                        total += weights[field]
                        after += weights[field] * expected[missing ^ 1 << field]
                expected[missing] = after / total
            return gold.rational(expected[-1])
        kinds = values["kinds"]
        if ask == "chance":
            seen = [1] + [0] * kinds
            for _ in range(values["packs"]):
                seen = [
                    seen[now] * now + (seen[now - 1] * (kinds - now + 1) if now else 0)
                    for now in range(kinds + 1)
                ]
            return gold.rational(Fraction(seen[kinds], kinds ** values["packs"]))
        have = values["have"] if ask == "more" else 0
        want = values["want"] if ask == "more" else kinds
        # E_k = 1 + k/n E_k + (n - k)/n E_{k+1}, from the end, over one denominator.
        top, below = 0, 1
        for now in range(want - 1, have - 1, -1):
            top, below = top * (kinds - now) + kinds * below, below * (kinds - now)
        return gold.rational(Fraction(top, below))


def _unequal(rng: random.Random, difficulty: float) -> Drawn:
    size = 2 + (rng.random() < difficulty)
    parts = base.whole(rng, size + 1, 6 + 6 * difficulty)
    cuts = sorted(base.distinct(rng, size - 1, 1, parts - 1))
    weights = [b - a for a, b in zip([0, *cuts], [*cuts, parts], strict=True)]
    found, lines = Fraction(0), []
    for count in range(1, size + 1):
        waits = [Fraction(parts, sum(some)) for some in itertools.combinations(weights, count)]
        found += (-1) ** (count + 1) * sum(waits, Fraction(0))
        lines.append(f"${' + '.join(map(ratio_text, waits))}$")
    named = ("one field", "one of two fields", "one of three fields")
    shown = "; ".join(f"for {name}, {line}" for name, line in zip(named, lines, strict=False))
    return Drawn(
        ask="unequal",
        values={"chances": [Fraction(weight, parts) for weight in weights]},
        gold=gold.rational(found),
        steps=f"The number of spins is the largest of the waits for each field. A largest one is "
        f"the sum of all, less the smaller of each pair, plus the smallest of each three; and the "
        f"first of several fields comes after one over the sum of their probabilities. The waits "
        f"are, {shown}. With signs $+, -, +$ they add up to ${ratio_text(found)}$.",
    )
