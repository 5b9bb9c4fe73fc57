"""Different things put into boxes or groups."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.combinatorics.counting import alternating
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class Distributions(Family):
    """How many ways different things can be put into numbered boxes or unnamed groups."""

    name = "distributions"
    tag = "combinatorics/distributions"
    wordings = Wordings(
        words={
            "things": ("toys", "books", "stamps", "letters", "balls"),
            "people": ("pupils", "players", "tourists", "dancers", "hikers"),
        },
        any=(
            "$<count>$ different <things> are put into $<boxes>$ numbered boxes. In how many ways "
            "can this be done, if boxes may stay empty?",
            "In how many ways can each of $<count>$ <people> choose one of $<boxes>$ rooms, if a "
            "room may be "
            "chosen by several or by nobody?",
        ),
        filled=(
            "$<count>$ different <things> are put into $<boxes>$ numbered boxes so that no box "
            "stays empty. In how many ways can this be done?",
            "How many functions from a set of $<count>$ elements onto a set of $<boxes>$ elements "
            "(taking every value) are there?",
        ),
        empty=(
            "$<count>$ different <things> are put into $<boxes>$ numbered boxes. In how many ways "
            "can this be done so that the number of boxes that stay empty is exactly $<empty>$?",
        ),
        groups=(
            "In how many ways can $<count>$ <people> be divided into $<boxes>$ groups, which have "
            "no names and no order, if no group is empty?",
            "In how many ways can a set of $<count>$ elements be written as a union of $<boxes>$ "
            "nonempty sets, no two of which have an element in common? The order of the sets does "
            "not matter.",
        ),
        sizes=(
            "In how many ways can $<count>$ <people> be divided into groups of these sizes: "
            "<sizes:integers>? The groups have no names and no order.",
            "$<count>$ different <things> are packed into plain parcels that look alike, with "
            "these numbers of <things> in them: <sizes:integers>. In how many ways can the "
            "<things> "
            "be divided up?",
        ),
    )

    count: Ends = dial(4, 10, "how many things", least=4, most=15)
    conditions: Ends = dial(0.3, 1, "share with a condition on the boxes", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.count, difficulty)
        count = base.whole(rng, max(4, int(most) - 3), most)
        boxes = base.whole(rng, 2, min(count - 2, 2 + 3 * difficulty))
        if rng.random() >= base.steady(self.conditions, difficulty):
            boxes = base.whole(rng, 2, 4 + 2 * difficulty)
            return Drawn(
                ask="any",
                values={"count": count, "boxes": boxes},
                gold=gold.integer(boxes**count),
                steps=f"For each of the ${count}$ there are ${boxes}$ possibilities, whatever the "
                f"others do: ${boxes}^{{{count}}} = {boxes**count}$.",
            )
        ask = base.rising(rng, ("sizes", "sizes", "filled", "groups", "empty"), difficulty)
        if ask == "sizes":
            return _by_sizes(rng, count, boxes)
        values = {"count": count, "boxes": boxes}
        onto, steps = _onto(count, boxes)
        if ask == "filled":
            found = onto
        elif ask == "groups":
            found = onto // math.factorial(boxes)
            steps += (
                f" Without numbers on the boxes, ${boxes}! = {math.factorial(boxes)}$ of these are "
                f"the same: ${onto} : {math.factorial(boxes)} = {found}$."
            )
        else:
            empty = base.whole(rng, 1, 1 + 2 * difficulty)
            values = {"count": count, "boxes": boxes + empty, "empty": empty}
            found = onto * math.comb(boxes + empty, empty)
            steps = (
                f"Choose the empty boxes in $\\binom{{{boxes + empty}}}{{{empty}}} = "
                f"{found // onto}$ ways and fill the other ${boxes}$. {steps} The product is "
                f"${found // onto} \\cdot {onto} = {found}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        count = values["count"]
        if ask == "sizes":
            sizes = values["sizes"]
            return gold.integer(_splits(tuple(sorted(sizes)))) if sum(sizes) == count else None
        # Thing after thing: ways in which so many boxes are in use.
        boxes = values["boxes"]
        used, numbered = [1] + [0] * boxes, ask != "groups"
        for _ in range(count):
            used = [
                used[now] * now
                + (used[now - 1] * (boxes - now + 1 if numbered else 1) if now else 0)
                for now in range(boxes + 1)
            ]
        if ask == "any":
            return gold.integer(sum(used))
        return gold.integer(used[boxes - values["empty"] if ask == "empty" else boxes])


def _by_sizes(rng: random.Random, count: int, boxes: int) -> Drawn:
    sizes = [1] * boxes
    for _ in range(count - boxes):
        sizes[int(rng.random() * boxes)] += 1
    same = [times for times in Counter(sizes).values() if times > 1]
    named = math.factorial(count) // math.prod(map(math.factorial, sizes))
    repeats = math.prod(map(math.factorial, same))
    below = " \\cdot ".join(f"{size}!" for size in sizes)
    steps = (
        f"If the groups had names, there would be $\\frac{{{count}!}}{{{below}}} = {named}$ ways."
    )
    if repeats > 1:
        steps += (
            f" Groups of the same size can be exchanged in ${repeats}$ ways without a difference: "
            f"${named} : {repeats} = {named // repeats}$."
        )
    else:
        steps += " All sizes are different, so that the groups can be told apart anyway."
    return Drawn(
        ask="sizes",
        values={"count": count, "sizes": sizes},
        gold=gold.integer(named // repeats),
        steps=steps,
    )


def _onto(count: int, boxes: int) -> tuple[int, str]:
    terms = [
        (-1) ** empty * math.comb(boxes, empty) * (boxes - empty) ** count for empty in range(boxes)
    ]
    return sum(terms), (
        f"With $j$ chosen boxes kept empty there are $({boxes} - j)^{{{count}}}$ ways. By "
        "inclusion "
        f"and exclusion, no box is empty in ${alternating(terms)} = {sum(terms)}$ ways."
    )


@functools.lru_cache(maxsize=5_000)
def _splits(sizes: tuple[int, ...]) -> int:
    """Ways to divide into groups of these sizes: by the group that the first one is in."""
    if not sizes:
        return 1
    total, people = 0, sum(sizes)
    for place, size in enumerate(sizes):
        if place and sizes[place - 1] == size:
            continue
        others = 1  # companions of the first one, chosen one by one and in no order
        for companion in range(1, size):
            others = others * (people - companion) // companion
        total += others * _splits(sizes[:place] + sizes[place + 1 :])
    return total
