"""The fewest colours for the vertices of a graph."""

from __future__ import annotations

import itertools
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
class FewestColours(Family):
    """How many colours a graph needs at least."""

    name = "fewest-colours"
    tag = "discrete/graphs"
    wordings = Wordings(
        "A graph has the vertices <vertices:text> and the edges <edges:text>. What is the smallest "
        "number of colours with which its vertices can be coloured, so that vertices joined by an "
        "edge have different colours?",
        "Lectures <vertices:text> are to be put into hours. These pairs have listeners in common "
        "and must not be at the same hour: <edges:text>. How many hours are needed at least?",
    )

    vertices: Ends = dial(4.5, 7, "how many vertices", least=3, most=8)
    edges: Ends = dial(1, 1.9, "edges for each vertex, about", least=1, most=3)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        vertices = base.whole_near(rng, base.steady(self.vertices, difficulty))
        density = base.steady(self.edges, difficulty)
        named = graphs.named(vertices)
        most = vertices * (vertices - 1) // 2
        count = min(base.whole_near(rng, density * vertices) + int(rng.random() * 3), most)
        if rng.random() < 0.7:
            wanted = base.whole(rng, 2, min(3.4 + 1.6 * difficulty, vertices - 1))
            edges = _planted(rng, vertices, wanted, count)
        else:
            edges = graphs.drawn(rng, vertices, max(3, count), connected=True)
        beside = graphs.neighbours(vertices, edges)
        colours, found = 2, _coloured(beside, 2)
        while not found:
            colours += 1
            found = _coloured(beside, colours)
        groups = [
            "".join(graphs.NAMES[each] for each in range(vertices) if found[each] == colour)
            for colour in range(colours)
        ]
        return Drawn(
            values={"vertices": named, "edges": graphs.text_of(edges)},
            gold=gold.integer(colours),
            steps=f"The groups {', '.join(groups)} have no edge inside, so ${colours}$ are enough. "
            f"{_not_fewer(beside, colours)}",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        vertices, edges = graphs.count_of(values["vertices"]), graphs.read(values["edges"])
        # Sets without an edge inside, counted in every part of the vertices: some of them cover
        # all vertices exactly if an alternating sum of powers is positive.
        beside = [0] * vertices
        for one, other in edges:
            beside[one] |= 1 << other
            beside[other] |= 1 << one
        free = [1] * (1 << vertices)
        for part in range(1, 1 << vertices):
            top = part.bit_length() - 1
            rest = part ^ 1 << top
            free[part] = free[rest] + free[rest & ~beside[top]]
        for colours in range(1, vertices + 1):
            covers = sum(
                (-1) ** (vertices - part.bit_count()) * count**colours
                for part, count in enumerate(free)
            )
            if covers:
                return gold.integer(colours)
        return None


def _planted(rng: random.Random, vertices: int, colours: int, count: int) -> list[graphs.Edge]:
    """Groups without an edge inside, and one vertex of each joined to those of the others."""
    group = base.shuffled(rng, [each % colours for each in range(vertices)])
    first = [group.index(colour) for colour in range(colours)]
    across = [
        (one, other)
        for one, other in itertools.combinations(range(vertices), 2)
        if group[one] != group[other]
    ]
    needed = [(one, other) for one, other in across if one in first and other in first]
    others = base.shuffled(rng, [edge for edge in across if edge not in needed])
    return sorted(needed + others[: max(0, count - len(needed))])


def _coloured(beside: Sequence[Sequence[int]], colours: int) -> list[int]:
    """A colouring, vertex by vertex with steps back; empty where there is none."""
    found: list[int] = []
    trying = 0
    while len(found) < len(beside):
        here = len(found)
        used = {found[each] for each in beside[here] if each < here}
        # A new colour is tried only after those in use, which are as good as each other.
        limit = min(colours, max(found, default=-1) + 2)
        while trying in used:
            trying += 1
        if trying < limit:
            found.append(trying)
            trying = 0
        elif found:
            trying = found.pop() + 1
        else:
            return []
    return found


def _not_fewer(beside: Sequence[Sequence[int]], colours: int) -> str:
    names = graphs.NAMES
    if colours == 2:
        return "One is not, because there are edges."
    for group in itertools.combinations(range(len(beside)), colours):
        if all(other in beside[one] for one, other in itertools.combinations(group, 2)):
            joined = "".join(names[each] for each in group)
            return f"Fewer are not, because all of {joined} are joined to each other."
    if colours == 3:
        return "Two are not, because there is a ring of odd length."
    return f"Trying all ways with ${colours - 1}$ finds none."
