"""Choices from a row or a ring without neighbours."""

from __future__ import annotations

import functools
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
class SpacedSubsets(Family):
    """How many choices from a row or a ring leave gaps between the chosen ones."""

    name = "spaced-subsets"
    tag = "combinatorics/subsets"
    wordings = Wordings(
        words={"things": ("lamps", "chairs", "doors", "trees", "flags")},
        row=(
            "In how many ways can $<size>$ of $<count>$ <things> in a row be chosen so that no two "
            "chosen ones are neighbours?",
            "How many subsets of $\\{1, 2, \\dots, <count>\\}$ with $<size>$ elements contain no "
            "two consecutive numbers?",
        ),
        ring=(
            "$<count>$ <things> stand in a circle, and each is different from the others. In how "
            "many ways can $<size>$ of them be chosen so that no two chosen ones are neighbours?",
        ),
        any=(
            "How many subsets of $\\{1, 2, \\dots, <count>\\}$, the empty one included, contain no "
            "two consecutive numbers?",
            "Each of $<count>$ <things> in a row may be marked or not, but two neighbours must not "
            "both be marked. In how many ways can this be done, marking none included?",
        ),
        wide=(
            "In how many ways can $<size>$ of $<count>$ <things> in a row be chosen so that "
            "between any two chosen ones there are at least $<gap>$ that are not chosen?",
            "How many subsets of $\\{1, 2, \\dots, <count>\\}$ with $<size>$ elements are there in "
            "which any two elements differ by more than $<gap>$?",
        ),
        any_ring=(
            "Each of $<count>$ different <things> in a circle may be marked or not, but two "
            "neighbours must not both be marked. In how many ways can this be done, marking none "
            "included?",
        ),
    )

    count: Ends = dial(6, 18, "how many things", least=6, most=40)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.count, difficulty)
        count = base.whole(rng, max(5, int(most) - 7), most)
        ask = base.rising(
            rng, ("any", "row", "row", "any_ring", "wide", "wide", "ring", "ring"), difficulty
        )
        values: dict[str, Any] = {"count": count}
        if ask in ("any", "any_ring"):
            counts = [1, 2] if ask == "any" else [2, 1, 3]
            while len(counts) <= count:
                counts.append(counts[-1] + counts[-2])
            first, shown = (1, counts[1:]) if ask == "any" else (2, counts[2:])
            rule = (
                "Let $f(n)$ be the number for $n$. Either the last is not marked, and $n - 1$ are "
                "left, or it is, and the one before is not: $f(n) = f(n - 1) + f(n - 2)$"
                if ask == "any"
                else "By one that is marked or not, a ring of $n$ gives a row of $n - 3$ or of "
                "$n - 1$. As for rows, it follows that $f(n) = f(n - 1) + f(n - 2)$ from $n = 4$ on"
            )
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.integer(counts[count]),
                steps=f"{rule}. So $f({first}), \\dots, f({count})$ are "
                f"${', '.join(map(str, shown))}$.",
            )
        gap = 1
        if ask == "wide":
            gap = base.whole(rng, 2, 2 + 2 * difficulty)
        largest = count // (gap + 1) if ask == "ring" else (count + gap) // (gap + 1)
        size = base.whole(rng, 2, max(2, largest - (largest > 3)))
        if ask == "wide" and largest < 2:
            ask, gap = "row", 1
        values |= {"size": size, "gap": gap}
        places = count - gap * (size - 1)
        if ask == "ring":
            inner = math.comb(count - size - 1, size - 1)
            found = count * inner // size
            steps = (
                f"Choose one of the ${count}$ first. Its neighbours drop out, and of the row of "
                f"${count - 3}$ that is left, ${size - 1}$ without neighbours are chosen in "
                f"$\\binom{{{count - size - 1}}}{{{size - 1}}} = {inner}$ ways. Each choice is "
                f"counted once for each of its ${size}$: ${count} \\cdot {inner} : {size}$."
            )
        else:
            found = math.comb(places, size)
            gaps = "the gap" if size == 2 else f"each of the ${size - 1}$ gaps"
            steps = (
                f"Take away {'one' if gap == 1 else f'${gap}$'} of those not chosen from {gaps} "
                f"between chosen ones: what is left is any choice of ${size}$ from ${count} - "
                f"{gap * (size - 1)} = {places}$, and it can be undone. So there are "
                f"$\\binom{{{places}}}{{{size}}}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Thing after thing: by how many are chosen and how long ago the last one was.
        count, gap = values["count"], values.get("gap", 1) if ask == "wide" else 1
        if not ask.endswith("ring"):
            counts = _rows(count, gap)
        else:  # the first one is chosen, and neighbours fall away, or it is not
            with_first = _rows(count - 3, 1)
            counts = tuple(
                left + right
                for left, right in zip(
                    _rows(count - 1, 1), (0, *with_first, *[0] * count), strict=False
                )
            )
        if ask.startswith("any"):
            return gold.integer(sum(counts))
        size = values["size"]
        return gold.integer(counts[size] if size < len(counts) else 0)


@functools.lru_cache(maxsize=2_000)
def _rows(count: int, gap: int) -> tuple[int, ...]:
    """How many choices of 0, 1, 2, ... there are from a row, by going along it."""
    free, closed = {0: 1}, [dict[int, int]() for _ in range(gap)]
    for _ in range(count):
        chosen = {size + 1: ways for size, ways in free.items()}
        for size, ways in closed[-1].items():
            free[size] = free.get(size, 0) + ways
        closed = [chosen, *closed[:-1]]
    total: dict[int, int] = {}
    for part in (free, *closed):
        for size, ways in part.items():
            total[size] = total.get(size, 0) + ways
    return tuple(total.get(size, 0) for size in range(max(total) + 1))
