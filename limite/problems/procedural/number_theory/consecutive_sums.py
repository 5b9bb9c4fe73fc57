"""Sums of neighbouring numbers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import divisors
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class ConsecutiveSums(Family):
    """In how many ways a number is a sum of consecutive numbers, and the longest such sum."""

    name = "consecutive-sums"
    tag = "number-theory/divisors"
    wordings = Wordings(
        count=(
            "In how many ways can $<number>$ be written as a sum of two or more consecutive "
            "positive integers?",
            "How many sets of at least two consecutive positive integers have the sum $<number>$?",
        ),
        longest=(
            "The number $<number>$ is written as a sum of consecutive positive integers. What is "
            "the largest possible number of terms?",
            "What is the largest number of consecutive positive integers whose sum is $<number>$?",
        ),
        lengths=(
            "For which integers $k \\ge 2$ is $<number>$ the sum of $k$ consecutive positive "
            "integers? Give the set of all such $k$.",
            "Find the set of all numbers of terms, at least two, with which $<number>$ can be "
            "written as a sum of consecutive positive integers.",
        ),
        integers=(
            "In how many ways can $<number>$ be written as a sum of one or more consecutive "
            "integers, which may be negative or zero?",
            "How many non-empty sets of consecutive integers (negative ones and zero included) "
            "have the sum $<number>$?",
        ),
    )

    number: Ends = dial(30, 3000, "largest sum", least=20, most=20_000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        number = base.whole(rng, 14, base.slow_start(self.number, difficulty))
        if rng.random() < 0.6:
            part = base.chosen(rng, (3, 5, 9, 15))
            top = base.slow_start(self.number, difficulty) / part
            number = part * base.whole(rng, 2, max(2.0, top))
        while len([d for d in divisors(number) if d % 2]) < 2:
            number += 1
        ask = base.chosen(rng, ("count", "longest", "lengths", "integers"))
        odd = [d for d in divisors(number) if d % 2]
        listing = ", ".join(map(str, odd))
        lengths = sorted(min(d, 2 * number // d) for d in odd)
        steps = (
            f"$k$ consecutive integers from $a$ on add up to $\\frac{{k(2a + k - 1)}}{{2}}$, so "
            f"$k(2a + k - 1) = {2 * number}$, where one factor is odd and the other even. The odd "
            f"divisors of ${number}$ are ${listing}$. "
        )
        if ask == "integers":
            answer = gold.integer(2 * len(odd))
            steps += (
                f"Each of these ${len(odd)}$ can be the first or the second factor: "
                f"$2 \\cdot {len(odd)}$ ways."
            )
        else:
            steps += (
                "For $a > 0$ the factor $k$ is the smaller one, and each odd divisor belongs to "
                f"one product: $k$ is one of ${', '.join(map(str, lengths))}$."
            )
            if ask == "count":
                answer = gold.integer(len(odd) - 1)
                steps += " The value $k = 1$ does not count."
            elif ask == "longest":
                answer = gold.integer(max(lengths))
            else:
                answer = gold.finite_set(lengths[1:])
                steps += " The value $k = 1$ does not count."
        return Drawn(ask=ask, values={"number": number}, gold=answer, steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number = values["number"]
        if ask == "integers":
            # k terms have the mean number / k, whole for odd k and halfway for even k.
            top = 2 * number
            return gold.integer(
                sum(
                    number % k == 0 if k % 2 else (number - k // 2) % k == 0
                    for k in range(1, top + 1)
                )
            )
        found, length, least = [], 1, 1
        while least <= number:  # the sum of 1 to k, and then k more for each step to the right
            if (number - least) % length == 0:
                found.append(length)
            length += 1
            least += length
        if ask == "longest":
            return gold.integer(found[-1])
        if ask == "count":
            return gold.integer(len(found) - 1)
        return gold.finite_set(found[1:])
