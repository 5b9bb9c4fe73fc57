"""Ordered sums: ways up a flight of stairs."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_SIZES = (
    *((1, 2), (1, 3), (2, 3), (1, 4), (2, 5)),
    *((1, 2, 3), (1, 2, 4), (1, 3, 4), (2, 3, 4), (1, 2, 5)),
)


@attrs.frozen(kw_only=True)
class StairClimbing(Family):
    """How many ways lead up a flight of stairs with strides of certain sizes."""

    name = "stair-climbing"
    tag = "combinatorics/compositions"
    wordings = Wordings(
        words={"who": ("Ana", "Luc", "Mara", "Tom", "Noor", "Ravi")},
        all=(
            "<who> climbs $<stairs>$ stairs. Each stride goes up by one of these numbers of "
            "stairs: <sizes:integers>. In how many different ways can <who> climb to the top?",
            "In how many ways can $<stairs>$ be written as an ordered sum of terms that are each "
            "one of these numbers: <sizes:integers>? A sum may have a single term.",
        ),
        broken=(
            "<who> climbs $<stairs>$ stairs, numbered from $1$ at the bottom. Each stride goes up "
            "by one of these numbers of stairs: <sizes:integers>. Stair number $<broken>$ is "
            "broken and must not be stepped on. In how many different ways can <who> climb to "
            "the top?",
        ),
        strides=(
            "<who> climbs $<stairs>$ stairs in exactly $<strides>$ strides. Each stride goes up by "
            "one of these numbers of stairs: <sizes:integers>. In how many different ways can "
            "this be done?",
            "In how many ways can $<stairs>$ be written as an ordered sum of exactly $<strides>$ "
            "terms that are each one of these numbers: <sizes:integers>?",
        ),
    )

    stairs: Ends = dial(5, 16, "most stairs", least=5, most=40)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.stairs, difficulty)
        sizes = base.chosen(rng, _SIZES)
        stairs = base.whole(rng, max(4, int(most) - 5), most)
        ask = base.rising(rng, ("all", "strides", "broken"), difficulty)
        values = {"stairs": stairs, "sizes": sizes}
        if ask == "strides":
            # A number of strides that can be done: between the longest and the shortest.
            choices = [
                counts for counts in _counts(stairs, sizes) if len([c for c in counts if c]) > 1
            ]
            if choices:
                strides = sum(base.chosen(rng, choices))
                return _by_strides(stairs, sizes, strides)
            ask = "all"
        ways = [1]
        broken = base.whole(rng, sizes[0], stairs - sizes[0]) if ask == "broken" else 0
        for stair in range(1, stairs + 1):
            ways.append(sum(ways[stair - size] for size in sizes if size <= stair))
            if stair == broken:
                ways[stair] = 0
        if ask == "broken" and ways[-1] == 0:
            ask, broken = "all", 0
            ways = [1]
            for stair in range(1, stairs + 1):
                ways.append(sum(ways[stair - size] for size in sizes if size <= stair))
        terms = " + ".join(f"f(n - {size})" for size in sizes)
        note = f" but with $f({broken}) = 0$," if broken else ""
        return Drawn(
            ask=ask,
            values={**values, "broken": broken},
            gold=gold.integer(ways[-1]),
            steps=f"Let $f(n)$ be the number of ways to reach $n$. By the last stride or term, "
            f"$f(n) = {terms}$, with $f(0) = 1$ and $f(n) = 0$ for negative $n$,{note} so that "
            f"$f(1), \\dots, f({stairs})$ are ${', '.join(map(str, ways[1:]))}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        stairs, sizes = values["stairs"], values["sizes"]
        if ask == "strides":
            # Coefficients of a power of the polynomial of the sizes.
            power = {0: 1}
            for _ in range(values["strides"]):
                after: dict[int, int] = {}
                for total, count in power.items():
                    for size in sizes:
                        if total + size <= stairs:
                            after[total + size] = after.get(total + size, 0) + count
                power = after
            return gold.integer(power.get(stairs, 0))
        found = _orders(stairs, sizes)
        if ask == "broken":  # without the ways that step on it
            broken = values["broken"]
            found -= _orders(broken, sizes) * _orders(stairs - broken, sizes)
        return gold.integer(found)


def _by_strides(stairs: int, sizes: Sequence[int], strides: int) -> Drawn:
    counts = [each for each in _counts(stairs, sizes) if sum(each) == strides]
    parts = []
    for each in counts:
        orders = _multinomial(each)
        used = " + ".join(f"{c} \\cdot {size}" for c, size in zip(each, sizes, strict=True) if c)
        below = " \\cdot ".join(f"{c}!" for c in each if c)
        parts.append(f"${used}$ in $\\frac{{{strides}!}}{{{below}}} = {orders}$ orders")
    found = sum(map(_multinomial, counts))
    return Drawn(
        ask="strides",
        values={"stairs": stairs, "sizes": sizes, "strides": strides},
        gold=gold.integer(found),
        steps=f"Which sizes can add up to ${stairs}$ in ${strides}$ terms? {'; '.join(parts)}. "
        f"Together these are ${found}$.",
    )


def _orders(stairs: int, sizes: Sequence[int]) -> int:
    """By how often each size is used, and in how many orders."""
    return sum(map(_multinomial, _counts(stairs, sizes)))


def _multinomial(counts: Sequence[int]) -> int:
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))


def _counts(stairs: int, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if len(sizes) == 1:
        if stairs % sizes[0] == 0:
            yield (stairs // sizes[0],)
        return
    for count in range(stairs // sizes[0] + 1):
        for others in _counts(stairs - count * sizes[0], sizes[1:]):
            yield (count, *others)
