"""Ways to write a number as a sum without regard to order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_SUM = "as a sum of positive integers"


@attrs.frozen(kw_only=True)
class Partitions(Family):
    """How many ways a number can be written as a sum of certain parts, in no order."""

    name = "partitions"
    tag = "combinatorics/partitions"
    wordings = Wordings(
        words={"things": ("coins", "marbles", "pebbles", "nuts")},
        distinct=(
            f"In how many ways can $<number>$ be written {_SUM} that are all different? The order "
            "of the parts does not matter, and a single part counts as a sum.",
            "In how many ways can $<number>$ equal <things> be arranged in heaps of different "
            "sizes, if the order of the heaps does not matter? A single heap is allowed.",
        ),
        odd=(
            f"In how many ways can $<number>$ be written {_SUM} that are all odd? The order of "
            "the parts does not matter, and a single part counts as a sum.",
        ),
        exactly=(
            "In how many ways can $<number>$ be written as a sum of exactly $<bound>$ positive "
            "integers? The order of the parts does not matter.",
            "In how many ways can $<number>$ equal <things> be arranged in exactly $<bound>$ "
            "heaps, if the order of the heaps does not matter and no heap is empty?",
        ),
        at_most=(
            "In how many ways can $<number>$ be written as a sum of at most $<bound>$ positive "
            "integers? The order of the parts does not matter, and a single part counts as a sum.",
        ),
        least=(
            f"In how many ways can $<number>$ be written {_SUM} that are all at least $<bound>$? "
            "The order of the parts does not matter, and a single part counts as a sum.",
        ),
        largest=(
            f"In how many ways can $<number>$ be written {_SUM} of which the largest is exactly "
            "$<bound>$? The order of the parts does not matter.",
        ),
        different=(
            "In how many ways can $<number>$ be written as a sum of exactly $<bound>$ different "
            "positive integers? The order of the parts does not matter.",
            "In how many ways can $<number>$ equal <things> be arranged in exactly $<bound>$ heaps "
            "of different sizes, if the order of the heaps does not matter and no heap is empty?",
        ),
    )

    number: Ends = dial(6, 20, "largest number to write as a sum", least=6, most=30)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.number, difficulty)
        number = base.whole(rng, max(5, int(most) - 8), most)
        ask = base.rising(
            rng,
            ("exactly", "largest", "at_most", "distinct", "odd", "different", "least"),
            difficulty,
        )
        bound = base.whole(rng, 2, 3 + number // 6)
        if ask == "different":
            bound = 2 if number < 7 or rng.random() < 0.3 else 3 if number < 12 else 4
        if ask == "least":
            bound = min(bound, number // 2)
        sums = list(_partitions(number, ask, bound))
        if len(sums) <= 12:
            steps = "These are all of them, by their largest parts: " + "; ".join(
                f"${' + '.join(map(str, each))}$" for each in sums
            )
        else:
            by_largest = ", ".join(
                f"${count}$ with ${largest}$"
                for largest, count in Counter(each[0] for each in sums).items()
            )
            steps = (
                f"Sort them by their largest part and write them out from the largest part down, "
                f"beginning with ${' + '.join(map(str, sums[0]))}$ and "
                f"${' + '.join(map(str, sums[1]))}$. There are {by_largest} as largest part, "
                f"which makes ${len(sums)}$"
            )
        return Drawn(
            ask=ask,
            values={"number": number, "bound": bound},
            gold=gold.integer(len(sums)),
            steps=f"{steps}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Theorems that exchange one kind of sums for another, and a table by parts.
        number, bound = values["number"], values.get("bound", 0)
        if ask == "distinct":  # as many as with odd parts
            return gold.integer(_table(number, range(1, number + 1, 2)))
        if ask == "odd":  # as many as with different parts
            ways = [1] + [0] * number
            for part in range(1, number + 1):
                for total in range(number, part - 1, -1):
                    ways[total] += ways[total - part]
            return gold.integer(ways[number])
        if ask == "least":
            return gold.integer(_table(number, range(bound, number + 1)))
        # Turned over, parts become columns: their number becomes the largest part.
        rest = {
            "exactly": number - bound,
            "largest": number - bound,
            "at_most": number,
            "different": number - bound * (bound + 1) // 2,
        }[ask]
        return gold.integer(_table(rest, range(1, bound + 1)) if rest >= 0 else 0)


def _table(number: int, parts: Iterable[int]) -> int:
    ways = [1] + [0] * number
    for part in parts:
        for total in range(part, number + 1):
            ways[total] += ways[total - part]
    return ways[number]


def _partitions(number: int, ask: str, bound: int) -> Iterator[tuple[int, ...]]:
    """All sums of the kind that is asked for, from the largest part down."""
    step = -2 if ask == "odd" else -1
    top = number - (number % 2 == 0) if ask == "odd" else number
    most = bound if ask in ("exactly", "at_most", "different") else number
    strict = ask in ("distinct", "different")
    low = bound if ask == "least" else 1

    def go_on(left: int, largest: int, parts: int) -> Iterator[tuple[int, ...]]:
        if left == 0:
            yield ()
            return
        if parts == 0 or largest * parts < left:
            return
        first = min(largest, left)
        if ask == "odd" and first % 2 == 0:
            first -= 1
        for part in range(first, low - 1, step):
            for others in go_on(left - part, part - strict, parts - 1):
                yield (part, *others)

    for each in go_on(number, bound if ask == "largest" else top, most):
        if ask in ("exactly", "different") and len(each) != bound:
            continue
        if ask == "largest" and each[0] != bound:
            continue
        yield each
