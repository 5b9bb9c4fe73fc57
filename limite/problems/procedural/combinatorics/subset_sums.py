"""Subsets with a given sum."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class SubsetSums(Family):
    """How many subsets of given numbers have a given sum, or a sum divisible by a number."""

    name = "subset-sums"
    tag = "combinatorics/subsets"
    wordings = Wordings(
        sum=(
            "How many subsets of $\\{<numbers:integers>\\}$ have the sum $<sum>$?",
            "Weights of these numbers of grams are at hand, one of each: <numbers:integers>. In "
            "how many ways can some of them be chosen that weigh $<sum>$ grams together?",
        ),
        size=(
            "How many subsets of $\\{<numbers:integers>\\}$ with exactly $<size>$ elements have "
            "the sum $<sum>$?",
        ),
        divisible=(
            "How many subsets of $\\{<numbers:integers>\\}$, the empty one with the sum $0$ "
            "included, have a sum that is divisible by $<divisor>$?",
        ),
        reachable=(
            "How many different sums do the subsets of $\\{<numbers:integers>\\}$ have, the empty "
            "one with the sum $0$ included?",
        ),
    )

    count: Ends = dial(5, 8, "how many numbers", least=4, most=12)
    most: Ends = dial(9, 24, "largest number", least=8, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        most = max(base.steady(self.most, difficulty), count + 1.0)
        numbers = sorted(base.distinct(rng, count, 1, int(most)))
        ask = base.rising(rng, ("sum", "sum", "size", "reachable", "divisible"), difficulty)
        if ask in ("sum", "size"):
            least = 2 if ask == "sum" or count < 7 else 3
            # Of some sums the one that can be made in most ways.
            tries = [
                base.distinct(rng, base.whole(rng, least, count // 2 + 1), 0, count - 1)
                for _ in range(1 + (ask == "size") + 2 * (ask == "size" and count > 6))
            ]
            chosen = max(tries, key=lambda each: _ways(numbers, each, ask == "size"))
            wanted = sum(numbers[each] for each in chosen)
            size = len(chosen) if ask == "size" else 0
            found = [
                some for some in _subsets(numbers[::-1], wanted) if not size or len(some) == size
            ]
            shown = "; ".join(" + ".join(map(str, some)) for some in found[:20])
            with_size = f" with ${size}$ terms" if size else ""
            return Drawn(
                ask=ask,
                values={"numbers": numbers, "sum": wanted, "size": size},
                gold=gold.integer(len(found)),
                steps=f"Take the largest number first, and try the largest one that still fits, "
                f"down to the smallest. The sums{with_size} are ${shown}$"
                f"{' and others' if len(found) > 20 else ''}: ${len(found)}$ in all.",
            )
        if ask == "divisible":
            divisor = base.whole(rng, 3, 5 + difficulty)
            counts = [1] + [0] * (divisor - 1)
            lines = []
            for number in numbers:
                counts = [
                    counts[rest] + counts[(rest - number) % divisor] for rest in range(divisor)
                ]
                lines.append(f"$({', '.join(map(str, counts))})$")
            return Drawn(
                ask=ask,
                values={"numbers": numbers, "divisor": divisor},
                gold=gold.integer(counts[0]),
                steps=f"Count the subsets by the remainder of their sum, $0$ to ${divisor - 1}$, "
                f"and let the numbers come in one after the other: a new number adds, for each "
                f"remainder, the subsets that come to it with the number. After each number: "
                f"{', '.join(lines)}.",
            )
        sums = {0}
        lines = []
        for number in numbers:
            sums |= {each + number for each in sums}
            lines.append(f"${len(sums)}$ with {number}")
        return Drawn(
            ask=ask,
            values={"numbers": numbers},
            gold=gold.integer(len(sums)),
            steps=f"Let the numbers come in one after the other: to the sums so far come those "
            f"that are larger by the new number, and sums that were there already count once. "
            f"From the one sum $0$ there are {', '.join(lines)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        numbers = values["numbers"]
        if ask == "size":
            some = itertools.combinations(numbers, values["size"])
            return gold.integer(list(map(sum, some)).count(values["sum"]))
        # All sums, each subset once.
        sums = [0]
        for number in numbers:
            sums += [each + number for each in sums]
        if ask == "sum":
            return gold.integer(sums.count(values["sum"]))
        if ask == "reachable":
            return gold.integer(len(set(sums)))
        return gold.integer(sum(each % values["divisor"] == 0 for each in sums))


def _subsets(numbers: list[int], wanted: int) -> list[tuple[int, ...]]:
    """Falling sums of some of ``numbers``, which fall as well."""
    if wanted == 0:
        return [()]
    found: list[tuple[int, ...]] = []
    for place, number in enumerate(numbers):
        if number <= wanted:
            found += [(number, *rest) for rest in _subsets(numbers[place + 1 :], wanted - number)]
    return found


def _ways(numbers: Sequence[int], chosen: Sequence[int], sized: bool) -> int:
    """How many subsets have the sum of the chosen places, and as many elements if ``sized``."""
    wanted = sum(numbers[each] for each in chosen)
    return sum(
        not sized or len(some) == len(chosen) for some in _subsets(sorted(numbers)[::-1], wanted)
    )
