"""Games with heaps, in which taking the last piece wins."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class HeapGames(Family):
    """Who wins a game with heaps, by how many first moves, and which heaps lose."""

    name = "heap-games"
    tag = "discrete/games"
    wordings = Wordings(
        winner=(
            "Two players move in turn. A move takes one or more stones from one of the heaps, "
            "which have $<heaps:integers>$ stones. Whoever takes the last stone wins. Can the "
            "first player force a win?",
            "There are heaps of $<heaps:integers>$ matches. Anna and Ben take turns, Anna first, "
            "and each takes any number of matches, at least one, from a single heap. The one who "
            "takes the last match of all wins. Does Anna win if both play as well as possible?",
        ),
        moves=(
            "Two players move in turn. A move takes one or more stones from one of the heaps, "
            "which have $<heaps:integers>$ stones. Whoever takes the last stone wins. With how "
            "many different first moves can the first player begin and still force a win?",
        ),
        losing=(
            "Two players take turns with one heap of counters. In a move, a player removes from it "
            "a number of counters that must be one of $<allowed:integers>$. Whoever cannot move "
            "loses. For which numbers of counters from $1$ to $<largest>$ does the player who "
            "moves first lose, if both play as well as possible? Give the set of these numbers.",
            "From a heap of counters two players remove some in turn; the number removed in one "
            "move must be one of $<allowed:integers>$. Whoever cannot move loses. Find the set of "
            "all sizes of the heap from $1$ to $<largest>$ for which the second player can force a "
            "win.",
        ),
    )

    heap: Ends = dial(5, 15, "largest heap", least=4, most=15)
    heaps: Ends = dial(2, 4, "how many heaps", least=2, most=5)
    largest: Ends = dial(10, 30, "largest single heap asked about", least=8, most=60)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        if rng.random() < 0.4:
            return _losing(rng, base.whole_near(rng, base.steady(self.largest, difficulty)))
        count = base.whole_near(rng, base.steady(self.heaps, difficulty))
        most = base.steady(self.heap, difficulty)
        heaps = [base.whole(rng, 1, most) for _ in range(count)]
        total = functools.reduce(lambda one, other: one ^ other, heaps)
        ask = "moves" if count > 2 and rng.random() < 0.5 else "winner"
        alone = sum(heap ^ total < heap for heap in heaps) == 1
        if ask == "moves" and alone and rng.random() < 0.5:
            heaps = [base.whole(rng, 1, most) for _ in range(count)]
        if ask == "winner" and rng.random() < 0.52:
            if heaps[-1] != total:  # balanced, unless that heap would be gone
                heaps[-1] ^= total
        elif ask == "winner" and not total:
            heaps[-1] = heaps[-1] % int(most) + 1
        total = functools.reduce(lambda one, other: one ^ other, heaps)
        binary = ", ".join(format(heap, "b") for heap in heaps)
        begin = f"In binary the heaps are ${binary}$, and adding without carrying gives "
        begin += f"${total:b}$."
        if ask == "winner":
            why = "The first player can bring it to $0$" if total else "Every move spoils that"
            end = "and do so again each time" if total else "and the second player can restore it"
            return Drawn(
                ask=ask,
                values={"heaps": heaps},
                gold=gold.boolean(total != 0),
                steps=f"{begin} {why}, {end}.",
            )
        good = [heap for heap in heaps if heap ^ total < heap]
        listed = ", ".join(f"${heap} \\to {heap ^ total}$" for heap in good) or "none"
        return Drawn(
            ask=ask,
            values={"heaps": heaps},
            gold=gold.integer(len(good)),
            steps=f"{begin} A first move wins if it makes this sum $0$, so a heap must become what "
            f"it gives when added to the sum, and smaller. Such moves are: {listed}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "losing":
            allowed, winning = set(values["allowed"]), [False]
            for size in range(1, values["largest"] + 1):
                winning.append(any(not winning[size - k] for k in allowed if k <= size))
            return gold.finite_set(size for size, wins in enumerate(winning) if size and not wins)
        heaps = values["heaps"]
        if ask == "winner":
            return gold.boolean(_worth(heaps) != 0)
        return gold.integer(
            sum(
                _worth([*heaps[:place], left, *heaps[place + 1 :]]) == 0
                for place, heap in enumerate(heaps)
                for left in range(heap)
            )
        )


@functools.cache
def _together(one: int, other: int) -> int:
    """The smallest number that no move in one of two heaps leads to: what both are worth."""
    reached = {_together(less, other) for less in range(one)}
    reached |= {_together(one, less) for less in range(other)}
    worth = 0
    while worth in reached:
        worth += 1
    return worth


def _worth(heaps: Sequence[int]) -> int:
    return functools.reduce(_together, heaps)


def _losing(rng: random.Random, largest: int) -> Drawn:
    allowed = sorted(base.distinct(rng, base.whole(rng, 2, 3), 1, 5 + largest // 4))
    largest = base.whole(rng, largest * 2 // 3, largest)
    worth: list[int] = []
    for size in range(largest + 1):
        reached = {worth[size - k] for k in allowed if k <= size}
        worth.append(next(each for each in range(len(reached) + 1) if each not in reached))
    losing = [size for size in range(1, largest + 1) if not worth[size]]
    shown = ", ".join(map(str, losing)) or "none"
    return Drawn(
        ask="losing",
        values={"allowed": allowed, "largest": largest},
        gold=gold.finite_set(losing),
        steps=f"A heap loses if every move leads to a heap that wins, and wins if some move leads "
        f"to one that loses. An empty heap loses. Going up from there, these lose: ${shown}$."
        if losing
        else "An empty heap loses, and from every size asked about some move leads to it or to "
        "another heap that loses.",
    )
