"""Colourings of a ring that count as the same when it is turned."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.combinatorics.counting import listed
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_TURNED = (
    "Colourings that can be turned into each other count as the same; the ring is not flipped."
)
_COLOURS = ("red", "blue", "green", "white", "black", "yellow", "pink", "orange")


@attrs.frozen(kw_only=True)
class Necklaces(Family):
    """How many colourings of a ring there are, when turned or flipped ones are the same."""

    name = "necklaces"
    tag = "combinatorics/symmetry"
    wordings = Wordings(
        words={"bead": ("beads", "seats", "flags", "lamps", "tiles")},
        turned=(
            "A ring consists of $<size>$ <bead>, each in one of $<colours>$ given colours. Not all "
            f"colours need be used. How many different rings are there? {_TURNED}",
        ),
        flipped=(
            "A bracelet consists of $<size>$ beads, each in one of $<colours>$ given colours. Not "
            "all colours need be used. How many different bracelets are there, if bracelets count "
            "as the same when one becomes the other by turning it, by flipping it over, or both?",
        ),
        given=(
            "A ring is made of these <bead>: <counts:text>. Those of the same colour look alike. "
            f"How many different rings are there? {_TURNED}",
        ),
    )

    size: Ends = dial(4, 9, "how many beads", least=3, most=10)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.size, difficulty)
        size = base.whole(rng, max(3, int(most) - 3), most)
        ask = base.chosen(rng, ("turned", "flipped", "given", "given"))
        if ask == "given":
            return _by_counts(rng, size)
        colours = base.whole(rng, 2, 2 if size > 7 else 3 if size > 5 else 4)
        fixed = [colours ** math.gcd(turn, size) for turn in range(size)]
        total, group = sum(fixed), size
        steps = (
            f"Count by Burnside: the turns by $0, 1, \\dots, {size - 1}$ places leave "
            f"${', '.join(map(str, fixed))}$ colourings as they are"
        )
        if ask == "flipped":
            group *= 2
            if size % 2:
                mirrors = [colours ** ((size + 1) // 2)] * size
                steps += f", and each of the ${size}$ flips leaves ${mirrors[0]}$"
            else:
                half = size // 2
                mirrors = [colours**half] * half + [colours ** (half + 1)] * half
                steps += (
                    f", ${half}$ flips through gaps leave ${mirrors[0]}$ each, and ${half}$ flips "
                    f"through beads leave ${mirrors[-1]}$ each"
                )
            total += sum(mirrors)
        return Drawn(
            ask=ask,
            values={"size": size, "colours": colours},
            gold=gold.integer(total // group),
            steps=f"{steps}. The mean over the ${group}$ motions is ${total} : {group} = "
            f"{total // group}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "given":
            counts = tuple(sorted(int(part.split(" ")[0]) for part in values["counts"].split(", ")))
            return gold.integer(_arranged(counts))
        return gold.integer(_rings(values["size"], values["colours"], ask == "flipped"))


def _by_counts(rng: random.Random, size: int) -> Drawn:
    size = max(size, 4)
    counts = [2, 2] if rng.random() < 0.5 else [1, 1, 2]
    while sum(counts) < size:
        counts[int(rng.random() * len(counts))] += 1
    common = math.gcd(*counts)
    parts, total = [], 0
    for order in range(1, common + 1):
        if common % order:
            continue
        turns = sum(math.gcd(each, order) == 1 for each in range(1, order + 1))
        smaller = [count // order for count in counts]
        fixed = math.factorial(size // order) // math.prod(map(math.factorial, smaller))
        total += turns * fixed
        said = (
            "The turn by nothing leaves"
            if order == 1
            else (
                f"{'one turn' if turns == 1 else f'{turns} turns'} of order ${order}$ "
                f"{'leaves' if turns == 1 else 'leave each'}"
            )
        )
        parts.append(f"{said} ${fixed}$")
    text = ", ".join(
        f"{count} {colour}"
        for count, colour in zip(counts, base.shuffled(rng, _COLOURS), strict=False)
    )
    return Drawn(
        ask="given",
        values={"counts": text},
        gold=gold.integer(total // size),
        steps=f"Count by Burnside how many rows of the ${size}$ things each turn leaves as they "
        f"are; only turns whose order divides all the counts leave any. {listed(parts)}. The mean "
        f"over all ${size}$ turns is ${total} : {size} = {total // size}$.",
    )


@functools.lru_cache(maxsize=500)
def _rings(size: int, colours: int, flipped: bool) -> int:
    """By writing out every ring, begun where it reads lowest."""
    return sum(not flipped or _lowest(ring[::-1]) >= ring for ring in _lowest_rings(size, colours))


def _lowest_rings(size: int, colours: int) -> Iterator[tuple[int, ...]]:
    def go_on(ring: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(ring) == size:
            if _lowest(ring) == ring:
                yield ring
            return
        for colour in range(ring[0] if ring else 0, colours):
            yield from go_on((*ring, colour))

    yield from go_on(())


def _lowest(ring: tuple[int, ...]) -> tuple[int, ...]:
    twice = ring + ring
    return min(twice[start : start + len(ring)] for start in range(len(ring)))


@functools.lru_cache(maxsize=500)
def _arranged(counts: Sequence[int]) -> int:
    """By writing out the rows that begin with a bead of the rarest colour, and comparing rings."""
    seen: set[tuple[int, ...]] = set()
    left = Counter(dict(enumerate(counts)))
    left[0] -= 1

    def go_on(row: tuple[int, ...]) -> None:
        if len(row) == sum(counts):
            seen.add(_lowest(row))
            return
        for colour in range(len(counts)):
            if left[colour]:
                left[colour] -= 1
                go_on((*row, colour))
                left[colour] += 1

    go_on((0,))
    return len(seen)
