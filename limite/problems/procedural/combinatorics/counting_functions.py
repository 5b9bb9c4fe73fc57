"""Functions between finite sets."""

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

_FROM = "from $\\{1, 2, \\dots, <count>\\}$ to $\\{1, 2, \\dots, <values>\\}$"
_SELF = "from $\\{1, 2, \\dots, <count>\\}$ to itself"


@attrs.frozen(kw_only=True)
class CountingFunctions(Family):
    """How many functions between finite sets are rising, one-to-one or equal to their inverse."""

    name = "counting-functions"
    tag = "combinatorics/functions"
    wordings = Wordings(
        all=(f"How many functions $f$ {_FROM} are there?",),
        rising=(
            f"How many functions $f$ {_FROM} are strictly increasing, with $f(i) < f(j)$ whenever "
            "$i < j$?",
        ),
        level=(
            f"How many functions $f$ {_FROM} never fall, that is, have $f(i) \\le f(j)$ whenever "
            "$i < j$?",
        ),
        one_to_one=(
            f"How many functions $f$ {_FROM} take no value twice?",
            f"How many one-to-one functions $f$ {_FROM} are there?",
        ),
        involutions=(f"How many functions $f$ {_SELF} satisfy $f(f(x)) = x$ for all $x$?",),
        projections=(f"How many functions $f$ {_SELF} satisfy $f(f(x)) = f(x)$ for all $x$?",),
        largest=(f"How many functions $f$ {_FROM} have $<top>$ as their largest value?",),
        sum=(f"How many functions $f$ {_FROM} are there whose values add up to an even number?",),
    )

    count: Ends = dial(4, 8, "how many elements", least=3, most=12)
    values: Ends = dial(7, 12, "how many values there are", least=3, most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.count, difficulty)
        count = base.whole(rng, max(3, int(most) - 2), most)
        high = base.steady(self.values, difficulty)
        values = base.whole(rng, max(3, int(high) - 4), high)
        ask = base.rising(
            rng,
            (
                "all",
                "one_to_one",
                "largest",
                "rising",
                "sum",
                "level",
                "involutions",
                "projections",
            ),
            difficulty,
        )
        if ask in ("rising", "one_to_one"):
            values = max(values, count + 1)
        given: dict[str, Any] = {"count": count, "values": values}
        power = f"{values}^{{{count}}} = {values**count}"
        if ask == "all":
            found = values**count
            steps = f"Each of the ${count}$ elements has one of ${values}$ values: ${power}$."
        elif ask == "rising":
            found = math.comb(values, count)
            steps = (
                f"Such a function is given by the set of its ${count}$ values, taken in order: "
                f"$\\binom{{{values}}}{{{count}}}$."
            )
        elif ask == "level":
            found = math.comb(values + count - 1, count)
            steps = (
                f"Replace $f(i)$ by $f(i) + i - 1$: the new values rise strictly and lie in $1, "
                f"\\dots, {values + count - 1}$, and this can be undone. So there are "
                f"$\\binom{{{values + count - 1}}}{{{count}}}$."
            )
        elif ask == "one_to_one":
            found = math.perm(values, count)
            product = " \\cdot ".join(str(values - each) for each in range(count))
            steps = f"Each next element has one value fewer to choose from: ${product}$."
        elif ask == "involutions":
            counts = [1, 1]
            while len(counts) <= count + 2:
                counts.append(counts[-1] + (len(counts) - 1) * counts[-2])
            count += base.whole(rng, 0, 2)
            given["count"] = count
            found = counts[count]
            steps = (
                f"Let $g(n)$ be the number for $n$ elements. The last one is its own value, or it "
                "is exchanged with one of $n - 1$ others: $g(n) = g(n - 1) + (n - 1) g(n - 2)$. "
                "So "
                f"$g(1), \\dots, g({count})$ are ${', '.join(map(str, counts[1 : count + 1]))}$."
            )
        elif ask == "projections":
            count = given["count"] = max(count, 4)
            terms = [math.comb(count, k) * k ** (count - k) for k in range(1, count + 1)]
            found = sum(terms)
            steps = (
                f"The values are exactly the elements that are kept. Choose $k$ of them, and for "
                f"each of the other ${count} - k$ elements one of these: $\\binom{{{count}}}{{k}} "
                f"k^{{{count} - k}}$. For $k = 1$ to ${count}$ this gives "
                f"${' + '.join(map(str, terms))}$."
            )
        elif ask == "largest":
            top = given["top"] = base.whole(rng, 2, values)
            found = top**count - (top - 1) ** count
            steps = (
                f"${top}^{{{count}}} = {top**count}$ functions have no larger value, and of these "
                f"${top - 1}^{{{count}}} = {(top - 1) ** count}$ do not take ${top}$ either: "
                f"${top**count} - {(top - 1) ** count}$."
            )
        else:
            odd = (values + 1) // 2
            even = values - odd
            found = (values**count + (even - odd) ** count) // 2
            if values % 2 == 0:
                steps = (
                    f"Half of the values are even, so whatever the others are, the value of the "
                    f"last element makes the sum even in half of the cases: ${power}$, and half of "
                    f"it."
                )
            else:
                sign = "less" if count % 2 else "more"
                steps = (
                    f"There are ${odd}$ odd and ${even}$ even values. In $({even} + "
                    f"{odd})^{{{count}"
                    f"}} = {values**count}$ all functions are counted, and in $({even} - {odd})"
                    f"^{{{count}}} = {(even - odd) ** count}$ those with an odd sum are counted "
                    f"negatively. So the even ones are half of the sum of the two, one {sign} than "
                    f"the odd ones."
                )
        return Drawn(ask=ask, values=given, gold=gold.integer(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Element after element, by the value of the last one or what was used before.
        count = values["count"]
        if ask == "involutions":
            # By the number of exchanged pairs.
            return gold.integer(
                sum(
                    math.factorial(count)
                    // (math.factorial(pairs) * 2**pairs * math.factorial(count - 2 * pairs))
                    for pairs in range(count // 2 + 1)
                )
            )
        if ask == "projections":
            # Groups of elements with one of them kept, by the group of the first one.
            ways = [1]
            for size in range(1, count + 1):
                ways.append(
                    sum(
                        math.comb(size - 1, other) * (other + 1) * ways[size - 1 - other]
                        for other in range(size)
                    )
                )
            return gold.integer(ways[count])
        kinds = values["values"]
        if ask in ("rising", "level"):
            last = [1] * kinds
            for _ in range(count - 1):
                below, after = 0, []
                for each in last:
                    after.append(below + (each if ask == "level" else 0))
                    below += each
                last = after
            return gold.integer(sum(last))
        if ask == "one_to_one":
            used = [1] + [0] * count
            for done in range(count):
                used[done + 1] = used[done] * (kinds - done)
            return gold.integer(used[count])
        if ask == "sum":
            even, odd = 1, 0
            for _ in range(count):
                odd_values = (kinds + 1) // 2
                even, odd = (
                    even * (kinds - odd_values) + odd * odd_values,
                    odd * (kinds - odd_values) + even * odd_values,
                )
            return gold.integer(even)
        if ask == "largest":
            reached, below = 0, 1  # whether the value has come, with none larger
            for _ in range(count):
                reached, below = (
                    reached * values["top"] + below,
                    below * (values["top"] - 1),
                )
            return gold.integer(reached)
        total = 1
        for _ in range(count):
            total *= kinds
        return gold.integer(total)
