"""Terms that two arithmetic sequences share."""

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


@attrs.frozen(kw_only=True)
class CommonTerms(Family):
    """The numbers that occur in both of two arithmetic sequences."""

    name = "common-terms"
    tag = "sequences/arithmetic"
    wordings = Wordings(
        smallest=(
            "Two arithmetic sequences begin with $<a>, <b>, \\dots$ and $<c>, <d>, \\dots$. What "
            "is the smallest number that occurs in both?",
            "Find the smallest number that is a term of both infinite arithmetic sequences "
            "$<a>, <b>, \\dots$ and $<c>, <d>, \\dots$.",
        ),
        count=(
            "Two arithmetic sequences begin with $<a>, <b>, \\dots$ and $<c>, <d>, \\dots$. How "
            "many numbers up to $<bound>$ (inclusive) occur in both?",
            "How many numbers that are at most $<bound>$ are terms of both infinite arithmetic "
            "sequences $<a>, <b>, \\dots$ and $<c>, <d>, \\dots$?",
        ),
        sum=(
            "Two arithmetic sequences begin with $<a>, <b>, \\dots$ and $<c>, <d>, \\dots$. Find "
            "the sum of all numbers up to $<bound>$ (inclusive) that occur in both.",
            "Add up all numbers that are at most $<bound>$ and are terms of both infinite "
            "arithmetic sequences $<a>, <b>, \\dots$ and $<c>, <d>, \\dots$. What is the sum?",
        ),
    )

    step: Ends = dial(5, 24, "largest common difference", least=4, most=60)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("smallest", "count", "sum"))
        size = base.steady(self.step, difficulty)
        left, right = base.distinct(rng, 2, 2, base.whole(rng, 4, size))
        if left % right == 0 or right % left == 0:
            left, right = (left, left + 1) if left > right else (right + 1, right)
        period = math.lcm(left, right)
        first = base.whole(rng, max(left, right) + 1, max(left, right) + period)
        a = first - left * base.whole(rng, 1, (first - 1) // left)
        c = first - right * base.whole(rng, 1, (first - 1) // right)
        while first - period >= max(a, c):
            first -= period
        values = {"a": a, "b": a + left, "c": c, "d": c + right}
        if a == c:
            values |= {"c": c + right, "d": c + 2 * right}
            c += right
            while first < c:
                first += period
        steps = (
            f"The differences are ${left}$ and ${right}$, so common terms repeat every "
            f"${period}$, their least common multiple. Of the numbers ${a}, {a + left}, \\dots$ "
            f"the first that is at least ${c}$ and leaves the remainder of ${c}$ on division by "
            f"${right}$ is ${first}$."
        )
        if ask == "smallest":
            return Drawn(ask=ask, values=values, gold=gold.integer(first), steps=steps)
        count = base.whole(rng, 2, 12)
        bound = first + period * (count - 1) + base.whole(rng, 0, period - 1)
        last = first + period * (count - 1)
        values["bound"] = bound
        steps += (
            f" Up to ${bound}$ there are ${first}, {first + period}, \\dots, {last}$"
            if (count > 2)
            else f" Up to ${bound}$ there are ${first}$ and ${last}$"
        )
        total = count * (first + last) // 2
        if ask == "count":
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.integer(count),
                steps=f"{steps}: $\\frac{{{last - first}}}{{{period}}} + 1 = {count}$ numbers.",
            )
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.integer(total),
            steps=f"{steps}, which are {count} numbers with the mean "
            f"$\\frac{{{first} + {last}}}{{2}}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        a, c = values["a"], values["c"]
        left, right = values["b"] - a, values["d"] - c
        if left < 1 or right < 1:
            return None
        bound = values.get("bound", max(a, c) + left * right)
        found = sorted({*range(a, bound + 1, left)} & {*range(c, bound + 1, right)})
        if ask == "smallest":
            return gold.integer(found[0]) if found else None
        return gold.integer(len(found) if ask == "count" else sum(found))
