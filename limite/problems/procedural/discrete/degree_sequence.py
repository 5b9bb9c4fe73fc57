"""Degrees that a graph can have, or cannot."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.discrete import graphs
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class DegreeSequence(Family):
    """Whether a simple graph with given degrees exists, and how many edges it has."""

    name = "degree-sequence"
    tag = "discrete/graphs"
    wordings = Wordings(
        exists=(
            "Is there a simple graph (without loops and double edges) whose vertices have the "
            "degrees $<degrees:integers>$?",
            "Each person at a party says how many of the others he or she knows: "
            "$<degrees:integers>$. Knowing is mutual. Can all of them be right?",
        ),
        edges=(
            "A simple graph has vertices of the degrees $<degrees:integers>$. How many edges does "
            "it have?",
            "The guests at a party say with how many others they shook hands: "
            "$<degrees:integers>$. All of them are right, and no two shook hands twice. How many "
            "handshakes were there?",
        ),
    )

    vertices: Ends = dial(4, 10, "how many vertices", least=4, most=20)
    exist: Ends = dial(0.5, 0.95, "share that asks whether the graph exists", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        vertices = base.whole_near(rng, base.steady(self.vertices, difficulty))
        most = vertices * (vertices - 1) // 2
        edges = graphs.drawn(rng, vertices, base.whole(rng, vertices - 1, most - 1))
        degrees = [len(each) for each in graphs.neighbours(vertices, edges)]
        if rng.random() >= base.steady(self.exist, difficulty):
            total = sum(degrees)
            return Drawn(
                ask="edges",
                values={"degrees": degrees},
                gold=gold.integer(len(edges)),
                steps=f"Every edge counts at both of its ends, so there are half as many as "
                f"${' + '.join(map(str, degrees))} = {total}$.",
            )
        wanted = rng.random() < 0.5
        possible, steps = _taken_off(degrees)
        for _ in range(12):
            changed = _moved(rng, degrees)
            fits, why = _taken_off(changed)
            if fits == wanted:
                degrees, possible, steps = changed, fits, why
                break
        return Drawn(
            ask="exists", values={"degrees": degrees}, gold=gold.boolean(possible), steps=steps
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        degrees = sorted(values["degrees"], reverse=True)
        even = sum(degrees) % 2 == 0
        if ask == "edges":
            return gold.integer(sum(degrees) // 2) if even else None
        # The inequalities of Erdos and Gallai.
        return gold.boolean(
            even
            and all(
                sum(degrees[:k]) <= k * (k - 1) + sum(min(each, k) for each in degrees[k:])
                for k in range(1, len(degrees) + 1)
            )
        )


def _moved(rng: random.Random, degrees: Sequence[int]) -> list[int]:
    """Some ends of edges moved, so that the sum stays even, or one more, and it does not."""
    changed, vertices = list(degrees), len(degrees)
    for _ in range(2 + vertices // 2):
        one, other = base.distinct(rng, 2, 0, vertices - 1)
        if changed[one] < changed[other]:
            one, other = other, one
        if changed[one] < vertices - 1 and changed[other] > 1:
            changed[one], changed[other] = changed[one] + 1, changed[other] - 1
    if rng.random() < 0.08 and min(changed) < vertices - 1:
        changed[changed.index(min(changed))] += 1
    return changed


def _taken_off(degrees: Sequence[int]) -> tuple[bool, str]:
    """The largest degree joined to the next largest, again and again."""
    total = sum(degrees)
    if total % 2:
        return False, f"The degrees add up to ${total}$, but every edge counts twice in the sum."
    rows: list[list[int]] = []
    left = sorted(degrees, reverse=True)
    while left and left[0]:
        first, *left = left
        if first > len(left) or left[first - 1] == 0:
            return False, (
                f"Take off the largest degree and lower as many of the next largest by one, again "
                f"and again: {_row([first, *left], rows)}. Now the largest, ${first}$, has not as "
                f"many others left that are above $0$."
            )
        rows.append([first, *left])
        left = sorted([each - 1 for each in left[:first]] + left[first:], reverse=True)
    return True, (
        f"Take off the largest degree and lower as many of the next largest by one, again and "
        f"again: {_row(left, rows)}. Only zeros are left, and backwards this builds the graph."
    )


def _row(last: Sequence[int], rows: Sequence[Sequence[int]]) -> str:
    return ", then ".join(f"${', '.join(map(str, row))}$" for row in [*rows, last] if row)
