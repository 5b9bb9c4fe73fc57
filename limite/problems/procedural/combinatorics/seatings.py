"""Seatings in a row and at a round table, with couples."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.combinatorics.counting import alternating
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_IN_ROW = (
    "$<couples>$ couples and $<singles>$ <guests> sit in a row of exactly as many chairs. In how "
    "many ways can they do so if",
    "A row of chairs is filled by $<couples>$ couples and $<singles>$ <guests>, each on a chair of "
    "their own, and no chair stays free. How many seatings are there in which",
)
_AT_TABLE = (
    "$<couples>$ couples and $<singles>$ <guests> sit at a round table (only who sits next to "
    "whom, and on which side, counts). How many seatings are there, turned ones counting as the "
    "same, in which",
    "$<couples>$ couples and $<singles>$ <guests> stand in a ring, facing its centre. Rings that "
    "become the same by turning count once. How many rings are there in which",
)
_WISHES = {
    "together": "the two of each couple are side by side?",
    "apart": "the two of a couple are never side by side?",
    "exactly": "the number of couples who are side by side is exactly $<beside>$?",
}


def _twice(place: str, scenes: Sequence[str]) -> dict[str, list[str]]:
    """Each wish of the couples in each scene, by what is asked."""
    return {
        f"{place}_{wish}": [f"{scene} {text}" for scene in scenes] for wish, text in _WISHES.items()
    }


@attrs.frozen(kw_only=True)
class Seatings(Family):
    """How many ways people can sit in a row or at a round table with couples together or apart."""

    name = "seatings"
    tag = "combinatorics/arrangements"
    wordings = Wordings(
        words={
            "one": ("Ana", "Ines", "Mara", "Noor"),
            "other": ("Luc", "Tom", "Emil", "Ravi"),
            "guests": ("other people", "single people", "people who came alone"),
        },
        pair_together=(
            "In how many ways can $<people>$ people stand in a line if two of them, <one> and "
            "<other>, must stand next to each other?",
            "<one>, <other> and other friends, $<people>$ people in all, queue one behind the "
            "other. How many orders are there in which <one> and <other> are neighbours?",
        ),
        pair_apart=(
            "In how many ways can $<people>$ people stand in a line if two of them, <one> and "
            "<other>, must not stand next to each other?",
            "<one>, <other> and other friends, $<people>$ people in all, queue one behind the "
            "other. How many orders are there in which <one> and <other> are not neighbours?",
        ),
        **_twice("row", _IN_ROW),
        **_twice("round", _AT_TABLE),
    )

    couples: Ends = dial(1, 4, "how many couples", least=1, most=7)
    singles: Ends = dial(4, 9, "how many other people", least=2, most=12)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        couples = base.whole_near(rng, base.steady(self.couples, difficulty))
        singles = base.whole(rng, 2, base.steady(self.singles, difficulty))
        kinds = ("together", "apart", "exactly") if couples > 1 else ("together", "apart")
        wish = base.chosen(rng, kinds)
        beside = base.whole(rng, 1, couples - 1) if wish == "exactly" else 0
        if couples == 1:
            place, values = "pair", {"people": singles + 2}
        else:
            place = "row" if rng.random() < 0.5 else "round"
            values = {"couples": couples, "singles": singles, "beside": beside}
        people, less = 2 * couples + singles, int(place == "round")
        seen = "orders" if place != "round" else "orders around the circle"
        if wish == "together":
            blocks = people - couples
            orders = math.factorial(blocks - less)
            found = 2**couples * orders
            power = "2" if couples == 1 else f"2^{couples} = {2**couples}"
            steps = (
                f"Take {'the two friends' if couples == 1 else 'each couple'} as one block: "
                f"${blocks}$ things have "
                f"${blocks - less}! = {orders}$ {seen}. Inside each block there are two orders, "
                f"which gives the factor ${power}$, and ${2**couples} \\cdot {orders} = {found}$."
            )
        else:
            terms = [
                (-1) ** (each - beside)
                * math.comb(each, beside)
                * math.comb(couples, each)
                * 2**each
                * math.factorial(people - each - less)
                for each in range(beside, couples + 1)
            ]
            found = sum(terms)
            weight = f", each counted $\\binom{{j}}{{{beside}}}$ times" if beside else ""
            steps = (
                f"With $j$ chosen pairs side by side, each taken as a block with two orders, there "
                f"are $2^j \\cdot ({people - less} - j)!$ {seen}. By inclusion and exclusion over "
                f"the $\\binom{{{couples}}}{{j}}$ choices{weight}, for $j = {beside}$ to "
                f"${couples}$: ${alternating(terms)} = {found}$."
            )
            if couples == 1:
                steps = (
                    f"There are ${people}! = {terms[0]}$ orders in all. With the two as one block "
                    f"there are $2 \\cdot {people - 1}! = {-terms[1]}$, and these are not allowed: "
                    f"${terms[0]} - {-terms[1]} = {found}$."
                )
        return Drawn(ask=f"{place}_{wish}", values=values, gold=gold.integer(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        place, _, wish = ask.partition("_")
        couples = values.get("couples", 1)
        singles = values["singles"] if place != "pair" else values["people"] - 2
        if singles < 0 or (place == "round" and singles < 1):
            return None
        if place == "round":
            singles -= 1  # one of them is seated first, and the others sit in a row around
        beside = {"together": couples, "apart": 0}.get(wish, values.get("beside", 0))
        return gold.integer(_ways(singles, couples, 0, False, beside))


@functools.lru_cache(maxsize=20_000)
def _ways(singles: int, intact: int, halves: int, waiting: bool, beside: int) -> int:
    """Ways to fill the chairs that are left so that ``beside`` couples sit side by side: with
    people of their own, couples not yet seated, people whose partner sits further back, and
    ``waiting`` where the partner of the last one still stands."""
    if beside < 0:
        return 0
    if not singles + intact + halves + waiting:
        return int(beside == 0)
    behind, total = halves + waiting, 0
    if waiting:
        total += _ways(singles, intact, halves, False, beside - 1)
    if singles:
        total += singles * _ways(singles - 1, intact, behind, False, beside)
    if intact:
        total += 2 * intact * _ways(singles, intact - 1, behind, True, beside)
    if halves:
        total += halves * _ways(singles, intact, behind - 1, False, beside)
    return total
