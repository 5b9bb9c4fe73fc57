"""Matrices of graphs: their edges, and the walks along them."""

from __future__ import annotations

import functools
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
class GraphWalks(Family):
    """The adjacency matrix of a graph, and how many walks of a length there are."""

    name = "graph-walks"
    tag = "discrete/graphs"
    wordings = Wordings(
        matrix=(
            "The entry in row $i$ and column $j$ of a matrix says how many walks with exactly "
            "$<length>$ edges lead from the $i$-th to the $j$-th of the vertices <vertices:text> "
            "in the directed graph with the edges <edges:text> (each from its first to its second "
            "letter). Write down this matrix.",
        ),
        adjacency=(
            "Write down the adjacency matrix of the directed graph with the vertices "
            "<vertices:text>, in this order, and the edges <edges:text> (each from its first to "
            "its second letter): a $1$ in row $i$ and column $j$ for an edge from the $i$-th to "
            "the $j$-th vertex, and $0$ otherwise.",
        ),
        count=(
            "In the graph with the vertices <vertices:text> and the edges <edges:text>, which can "
            "be used both ways, how many walks with exactly $<length>$ edges lead from "
            "<start:word> to <goal:word>? Vertices and edges may be used more than once.",
            "The cities <vertices:text> are joined by these flights, which go both ways: "
            "<edges:text>. In how many ways can one fly from <start:word> to <goal:word> with "
            "exactly $<length>$ flights, if cities may be visited again?",
        ),
    )

    vertices: Ends = dial(3, 6, "how many vertices", least=3, most=8)
    length: Ends = dial(1.4, 5, "edges of a walk", least=1, most=12)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        vertices = base.whole_near(rng, base.steady(self.vertices, difficulty))
        length = base.whole_near(rng, base.steady(self.length, difficulty))
        named = graphs.named(vertices)
        most = vertices * (vertices - 1) // 2
        count = min(vertices + base.whole(rng, 0, vertices / 2), most)
        edges = graphs.drawn(rng, vertices, count, connected=True)
        values: dict[str, Any] = {"vertices": named, "edges": graphs.text_of(edges)}
        if length > 1 and rng.random() < 0.7:
            start, goal = int(rng.random() * vertices), int(rng.random() * vertices)
            beside = graphs.neighbours(vertices, edges)
            ways = [int(each == start) for each in range(vertices)]
            found = []
            for _ in range(length):
                ways = [sum(ways[other] for other in beside[each]) for each in range(vertices)]
                found.append(f"$({', '.join(map(str, ways))})$")
            values |= {
                "length": length,
                "start": graphs.NAMES[start],
                "goal": graphs.NAMES[goal],
            }
            return Drawn(
                ask="count",
                values=values,
                gold=gold.integer(ways[goal]),
                steps=f"Walks to a vertex come through its neighbours, so their numbers are added. "
                f"For {named}, from one edge on, there are {', '.join(found)} walks.",
            )
        arrows = [edge if rng.random() < 0.6 else edge[::-1] for edge in edges]
        extra = [edge[::-1] for edge in arrows if rng.random() < 0.5]
        arrows = base.shuffled(rng, arrows + extra)
        values["edges"] = graphs.text_of(arrows)
        each = range(vertices)
        one = [[int((row, column) in arrows) for column in each] for row in each]
        rows = ", ".join(
            f"{graphs.NAMES[row]} to {_names(one[row])}" for row in range(vertices) if any(one[row])
        )
        if length == 1:
            return Drawn(
                ask="adjacency",
                values=values,
                gold=gold.matrix(one),
                steps=f"The edges lead from {rows}.",
            )
        length = min(length, 3)
        values["length"] = length
        power = one
        for _ in range(length - 1):
            power = [
                [sum(row[k] * one[k][column] for k in each) for column in each] for row in power
            ]
        return Drawn(
            ask="matrix",
            values=values,
            gold=gold.matrix(power),
            steps=f"The edges lead from {rows}. With a $1$ for every edge this is a matrix, and "
            f"its power with the exponent ${length}$ counts the walks, since multiplying "
            f"adds over the vertices between.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        count, edges = graphs.count_of(values["vertices"]), graphs.read(values["edges"])
        leads: list[list[int]] = [[] for _ in range(count)]
        for one, other in edges:
            leads[one].append(other)
            if ask == "count":
                leads[other].append(one)

        @functools.cache
        def walks(here: int, goal: int, length: int) -> int:
            if not length:
                return int(here == goal)
            return sum(walks(after, goal, length - 1) for after in leads[here])

        if ask == "count":
            start, goal = (graphs.NAMES.index(values[name]) for name in ("start", "goal"))
            return gold.integer(walks(start, goal, values["length"]))
        length = values.get("length", 1)
        return gold.matrix(
            [[walks(row, column, length) for column in range(count)] for row in range(count)]
        )


def _names(row: Sequence[int]) -> str:
    return " and ".join(graphs.NAMES[place] for place, each in enumerate(row) if each)
