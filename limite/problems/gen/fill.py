"""Fills the places of a file with candidates: no two alike, and every one counted.

What is kept depends on the candidates alone: place after place, the next candidate of its family
that was not refused and that no place holds already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

import attrs

from limite.problems.gen.candidate import Made
from limite.problems.gen.places import spread
from limite.problems.gen.request import Request
from limite.problems.gen.supply import Supply

PATIENCE = 2_000

WINDOW = 20_000
RARE = 50
"""Where fewer than one of so many candidates is new, looking for the rest takes all the time."""


@attrs.define(kw_only=True)
class Tally:
    """What became of one family's candidates."""

    asked: int = 0
    written: int = 0
    duplicates: int = 0
    refused: Counter[str] = attrs.field(factory=Counter)
    exhausted: bool = False
    idle: int = 0  # candidates since the last that was new
    last_new: int | None = None  # how many of the last WINDOW were new, where they were rare
    _had: int = 0  # written before these

    @property
    def made(self) -> int:
        refused = self.refused.total() if self.refused else 0
        return self.written + self.duplicates + refused

    @property
    def unfilled(self) -> int:
        return max(0, self.asked - self.written)

    def look(self) -> None:
        """Sees after each candidate whether it is worth going on."""
        if self.made % WINDOW == 0:
            new, self._had = self.written - self._had, self.written
            if new * RARE < WINDOW:
                self.last_new = new
        self.exhausted = self.last_new is not None or (self.idle >= PATIENCE + 3 * self.written)

    def restore(self, counts: Mapping[str, int]) -> None:
        """Takes the counts with which an earlier run ended the family."""
        self.duplicates, self.idle = counts["duplicates"], counts["idle"]
        self.last_new = counts.get("last_new")
        self.exhausted = True

    @property
    def counts(self) -> dict[str, int]:
        """The counts with which the family is ended."""
        kept = {"written": self.written, "duplicates": self.duplicates, "idle": self.idle}
        return kept if self.last_new is None else {**kept, "last_new": self.last_new}


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

    A family is exhausted that gives nothing new in ``PATIENCE`` candidates and three times as many
    as it has given so far, or fewer than one in ``RARE`` over ``WINDOW`` of them. Its remaining
    places stay empty, or with ``top_up`` go to the family that has the fewest by its weight. A
    shard looks at one candidate for each of its places, and no more: what repeats others is found
    when shards are merged. Where repeats are allowed no family is exhausted, unless all it gives
    is refused.

    ``end`` is told the counts of a family that is exhausted, and ``ended`` holds what it was told
    by an earlier run: what gave nothing new then is not tried again.
    """
    seen: set[bytes] = set()
    for tally, places in zip(tallies, plan.places, strict=True):
        tally.asked = places
    weights = [share.weight for share in request.shares]

    def settle(tally: Tally, name: str) -> None:
        tally.look()
        if tally.exhausted and not tally.refused:  # the refused are to be told again
            end(name, tally.counts)

    def one(share: int) -> Generator[Made, None, bool]:
        """Candidates of a share until one is kept, which it returns, or there are no more."""
        tally, name = tallies[share], request.shares[share].name
        while not tally.exhausted:
            if name in ended and tally.written == ended[name]["written"]:
                tally.restore(ended[name])
                break
            made = supply.take(share, frozenset() if request.repeats else seen)
            key = bytes.fromhex(made[0])
            kept = False
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
                kept = True
            if request.shard is None:
                settle(tally, name)
            if kept:
                yield made
                return True
            if request.shard is not None:
                break
        return False

    def fewest() -> int | None:
        left = [share for share, tally in enumerate(tallies) if not tally.exhausted]
        return min(left, key=lambda share: tallies[share].written / weights[share], default=None)

    for place, share in enumerate(spread(weights, request.places.stop)):
        if place < request.places.start:
            continue
        filled = yield from one(share)
        while request.top_up and request.shard is None and not filled:
            other = fewest()
            if other is None:
                return
            filled = yield from one(other)
