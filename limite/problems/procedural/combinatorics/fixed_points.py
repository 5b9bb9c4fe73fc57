"""Permutations with a number of fixed points."""

from __future__ import annotations

import itertools
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
class FixedPoints(Family):
    """How many ways to hand things back so that none, or some, come to their owners."""

    name = "fixed-points"
    tag = "combinatorics/permutations"
    wordings = Wordings(
        words={
            "guests": ("guests", "pupils", "friends", "actors"),
            "hat": ("hat", "coat", "scarf", "key", "book"),
        },
        none=(
            "$<count>$ <guests> each hand in a <hat>, and each gets one back. In how many ways "
            "can this happen so that nobody gets their own <hat>?",
            "How many permutations of $1, 2, \\dots, <count>$ leave no number in its place?",
        ),
        exactly=(
            "$<count>$ <guests> each hand in a <hat>, and each gets one back. In how many ways "
            "can this happen so that the number of <guests> who get their own <hat> is exactly "
            "$<fixed>$?",
            "How many permutations of $1, 2, \\dots, <count>$ have exactly $<fixed>$ of the "
            "numbers in their own places?",
        ),
        at_least=(
            "$<count>$ <guests> each hand in a <hat>, and each gets one back. In how many ways "
            "can this happen so that the number of <guests> who get their own <hat> is at least "
            "$<fixed>$?",
            "How many permutations of $1, 2, \\dots, <count>$ have at least $<fixed>$ of the "
            "numbers in their own places?",
        ),
        some=(
            "$<count>$ <guests> each hand in a <hat>, and each gets one back. $<chosen>$ of them "
            "are called lucky if they get their own <hat>; what the others get does not matter. "
            "In how many ways can this happen so that none of the $<chosen>$ is lucky?",
            "In how many permutations of $1, 2, \\dots, <count>$ is none of the numbers from $1$ "
            "to $<chosen>$ in its own place, whatever the others do?",
        ),
    )

    count: Ends = dial(5, 10, "how many things", least=4, most=20)
    conditions: Ends = dial(0, 0.8, "share that asks for some fixed points", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.count, difficulty)
        count = base.whole(rng, max(4, int(most) - 3), most)
        if rng.random() >= base.steady(self.conditions, difficulty):
            if rng.random() < 0.4:
                return Drawn(
                    ask="none",
                    values={"count": count},
                    gold=gold.integer(_none(count, count)),
                    steps=_sieve(count, count),
                )
            some = base.whole(rng, 2, count - 1)
            return Drawn(
                ask="some",
                values={"count": count, "chosen": some},
                gold=gold.integer(_none(some, count)),
                steps=_sieve(some, count),
            )
        fixed = base.whole(rng, 2, count - 2)
        values = {"count": count, "fixed": fixed}
        if rng.random() < 0.5:
            found = math.comb(count, fixed) * _none(count - fixed, count - fixed)
            return Drawn(
                ask="exactly",
                values=values,
                gold=gold.integer(found),
                steps=f"The ${fixed}$ that fit can be chosen in $\\binom{{{count}}}{{{fixed}}} = "
                f"{math.comb(count, fixed)}$ ways, and of the other ${count - fixed}$ none may "
                f"fit. {_sieve(count - fixed, count - fixed)} The product is ${found}$.",
            )
        numbers = [each for each in range(fixed, count + 1) if each != count - 1]
        terms = [math.comb(count, each) * _none(count - each, count - each) for each in numbers]
        parts = ", ".join(
            f"for ${each}$: $\\binom{{{count}}}{{{each}}} \\cdot "
            f"{_none(count - each, count - each)} = {term}$"
            for each, term in zip(numbers, terms, strict=True)
        )
        return Drawn(
            ask="at_least",
            values=values,
            gold=gold.integer(sum(terms)),
            steps=f"Choose those that fit, and let none of the others fit; all but one cannot fit "
            f"alone. That gives {parts}. The sum is ${sum(terms)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By cycles: the first thing lies in a cycle of some length, whose others are chosen in
        # order; a cycle of length 1 is a fixed point.
        count = values["count"]
        if ask == "some":
            # Those who do not matter are put into their places or not, one after the other.
            some = values["chosen"]
            row = [_by_fixed(some + more)[0] for more in range(count - some + 1)]
            for _ in range(count - some):
                row = [low + high for low, high in itertools.pairwise(row)]
            return gold.integer(row[0])
        by_fixed = _by_fixed(count)
        if ask == "none":
            return gold.integer(by_fixed[0])
        fixed = values["fixed"]
        return gold.integer(by_fixed[fixed] if ask == "exactly" else sum(by_fixed[fixed:]))


def _by_fixed(count: int) -> list[int]:
    """How many permutations have 0, 1, 2, ... fixed points."""
    rows = [[1] + [0] * count]
    for size in range(1, count + 1):
        row, orders = [0, *rows[size - 1][:-1]], 1
        for length in range(2, size + 1):
            orders *= size - length + 1
            row = [a + orders * b for a, b in zip(row, rows[size - length], strict=True)]
        rows.append(row)
    return rows[count]


def _none(some: int, count: int) -> int:
    return sum(_terms(some, count))


def _terms(some: int, count: int) -> list[int]:
    return [
        (-1) ** each * math.comb(some, each) * math.factorial(count - each)
        for each in range(some + 1)
    ]


def _sieve(some: int, count: int) -> str:
    return (
        f"With $j$ chosen ones of ${some}$ in their places, the rest can go in $({count} - j)!$ "
        f"ways. By inclusion and exclusion, none of them is in its place in "
        f"${alternating(_terms(some, count))} = {_none(some, count)}$ ways."
    )
