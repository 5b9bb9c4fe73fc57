"""Fills the places of a file with candidates: no two alike, and every one counted.

What is kept depends on the candidates alone: place after place, the next candidate of its family
that was not refused and that no place holds already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from limite.problems.gen.candidate import Made
from limite.problems.gen.places import spread
from limite.problems.gen.request import Request
from limite.problems.gen.supply import Supply

PATIENCE = 2_000


@attrs.define(kw_only=True)
class Tally:
    """What became of one family's candidates."""

    asked: int = 0
    written: int = 0
    duplicates: int = 0
    refused: Counter[str] = attrs.field(factory=Counter)
    exhausted: bool = False
    idle: int = 0  # candidates since the last that was new

    @property
    def made(self) -> int:
        return self.written + self.duplicates + self.refused.total()

    @property
    def unfilled(self) -> int:
        return self.asked - self.written


@attrs.frozen
class Plan:
    """How many places each family has, and how many it has before the first of them."""

    places: Sequence[int]
    before: Sequence[int]

    @classmethod
    def of(cls, request: Request) -> Plan:
        counts = [[0] * len(request.shares), [0] * len(request.shares)]
        places = request.places
        weights = [share.weight for share in request.shares]
        for place, share in enumerate(spread(weights, places.stop)):
            counts[place >= places.start][share] += 1
        return cls(places=counts[1], before=counts[0])


def fill(
    request: Request,
    plan: Plan,
    supply: Supply,
    tallies: Sequence[Tally],
    ended: Mapping[str, Mapping[str, int]],
    end: Callable[[str, Mapping[str, int]], None],
) -> Iterator[Made]:
    """The kept candidates, place after place, and between them the refused ones.

    A family that gives nothing new in ``PATIENCE`` candidates and three times as many as it has
    given so far is exhausted: its remaining places stay empty. A shard looks at one candidate for
    each of its places, and no more: what repeats others is found when shards are merged. Where
    repeats are allowed no family is exhausted, unless all it gives is refused.

    ``end`` is told the counts of a family that is exhausted, and ``ended`` holds what it was told
    by an earlier run: what gave nothing new then is not tried again.
    """
    seen: set[bytes] = set()
    for tally, places in zip(tallies, plan.places, strict=True):
        tally.asked = places
    weights = [share.weight for share in request.shares]
    for place, share in enumerate(spread(weights, request.places.stop)):
        if place < request.places.start:
            continue
        tally = tallies[share]
        name = request.shares[share].name
        while not tally.exhausted:
            if name in ended and tally.written == ended[name]["written"]:
                tally.duplicates, tally.idle = ended[name]["duplicates"], ended[name]["idle"]
                tally.exhausted = True
                break
            made = supply.take(share, frozenset() if request.repeats else seen)
            key = bytes.fromhex(made[0])
            if key in seen and not request.repeats:
                tally.duplicates += 1
                tally.idle += 1
            elif made[2]:
                tally.refused[made[2]] += 1
                tally.idle += 1
                yield made
            else:
                seen.add(key)
                tally.written += 1
                tally.idle = 0
                yield made
                break
            if request.shard is not None:
                break
            tally.exhausted = tally.idle >= PATIENCE + 3 * tally.written
            if tally.exhausted and not tally.refused:  # the refused are to be told again
                counts = (tally.written, tally.duplicates, tally.idle)
                end(name, dict(zip(("written", "duplicates", "idle"), counts, strict=True)))
