"""Parts of a graph that hang together, and edges that hold them."""

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
class GraphParts(Family):
    """Components, missing edges, bridges and round trips of a graph."""

    name = "graph-parts"
    tag = "discrete/graphs"
    wordings = Wordings(
        components=(
            "A graph has the vertices <vertices:text> and the edges <edges:text>. How many "
            "connected components does it have?",
            "Among the islands <vertices:text> there are these bridges: <edges:text>. Into how "
            "many groups do the islands fall, when islands that can be reached from each other "
            "over bridges form one group?",
        ),
        largest=(
            "A graph has the vertices <vertices:text> and the edges <edges:text>. How many "
            "vertices does its largest connected component have?",
        ),
        bridges=(
            "A graph has the vertices <vertices:text> and the edges <edges:text>. How many of its "
            "edges are bridges, that is, raise the number of connected components when they are "
            "taken away?",
        ),
        euler=(
            "A graph has the vertices <vertices:text> and the edges <edges:text>. Is there a walk "
            "that uses every edge exactly once? It may end elsewhere than it begins.",
            "Among the islands <vertices:text> there are these bridges: <edges:text>. Can one "
            "cross every bridge exactly once on a single walk, which may end on another island?",
        ),
        bipartite=(
            "A graph has the vertices <vertices:text> and the edges <edges:text>. Is it bipartite?",
        ),
    )

    vertices: Ends = dial(5, 11, "how many vertices", least=4, most=12)
    harder: Ends = dial(0.2, 0.8, "share that does not ask for components", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        vertices = base.whole_near(rng, base.steady(self.vertices, difficulty))
        ask = "components"
        if rng.random() < base.steady(self.harder, difficulty):
            ask = base.chosen(rng, ("largest", "bridges", "euler", "bipartite"))
        if ask in ("components", "largest"):
            count = base.whole(rng, vertices // 2, vertices - 1)
        else:  # with rings
            count = base.whole(rng, vertices, vertices + 2)
        edges = graphs.drawn(rng, vertices, count, connected=ask in ("bridges", "euler"))
        if ask in ("euler", "bipartite"):
            edges = _decided(rng, ask, vertices, edges)
        parts = _components(vertices, edges)
        shown = ", ".join("".join(graphs.NAMES[each] for each in part) for part in parts)
        begin = f"The parts that hang together are {shown}"
        if ask == "components":
            answer, steps = gold.integer(len(parts)), f"{begin}."
        elif ask == "largest":
            answer, steps = gold.integer(max(map(len, parts))), f"{begin}."
        elif ask == "bridges":
            found = [
                edge
                for edge in edges
                if len(_components(vertices, [each for each in edges if each != edge])) > len(parts)
            ]
            listed = graphs.text_of(found) or "none"
            answer = gold.integer(len(found))
            steps = f"An edge is a bridge where it lies on no ring. These are: {listed}."
        elif ask == "euler":
            degrees = [len(each) for each in graphs.neighbours(vertices, edges)]
            odd = [graphs.NAMES[place] for place, degree in enumerate(degrees) if degree % 2]
            answer = gold.boolean(len(odd) <= 2)
            steps = (
                f"The graph is connected, and the vertices with an odd number of edges are: "
                f"{', '.join(odd) or 'none'}. A walk passes through every vertex but its ends in "
                f"pairs of edges, so at most two may be odd, and then it is possible."
            )
        else:
            answer, steps = _two_sides(vertices, edges)
        return Drawn(
            ask=ask,
            values={"vertices": graphs.named(vertices), "edges": graphs.text_of(edges)},
            gold=answer,
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        vertices, edges = graphs.count_of(values["vertices"]), graphs.read(values["edges"])
        if ask == "euler":
            return gold.boolean(_walked(edges))
        if ask == "bipartite":
            # Every way to put vertices on two sides, as bits; the first vertex stands on one.
            sides = [(1 << one, 1 << other) for one, other in edges]
            return gold.boolean(
                any(
                    all((row & one == 0) != (row & other == 0) for one, other in sides)
                    for row in range(1 << (vertices - 1))
                )
            )
        sizes = _merged(vertices, edges)
        if ask == "components":
            return gold.integer(len(sizes))
        if ask == "largest":
            return gold.integer(max(sizes))
        kept = range(len(edges))
        return gold.integer(
            sum(
                len(_merged(vertices, [edges[k] for k in kept if k != gone])) > len(sizes)
                for gone in kept
            )
        )


def _components(vertices: int, edges: Sequence[graphs.Edge]) -> list[list[int]]:
    beside, left, parts = graphs.neighbours(vertices, edges), set(range(vertices)), []
    for first in range(vertices):
        if first in left:
            part = [first]
            for here in part:
                part += [other for other in beside[here] if other not in part]
            left.difference_update(part)
            parts.append(sorted(part))
    return parts


def _merged(vertices: int, edges: Sequence[graphs.Edge]) -> list[int]:
    """The sizes of the components, by merging groups edge by edge."""
    groups = [1 << each for each in range(vertices)]
    for one, other in edges:
        joined = [group for group in groups if group >> one & 1 or group >> other & 1]
        groups = [group for group in groups if group not in joined]
        groups.append(joined[0] | joined[-1])
    return [group.bit_count() for group in groups]


def _decided(
    rng: random.Random, ask: str, vertices: int, edges: list[graphs.Edge]
) -> list[graphs.Edge]:
    """Edges for which yes and no are about as likely."""
    count = len(edges)
    if rng.random() < 0.5:
        if ask == "euler":
            return _evened(vertices, edges)
        sides = base.shuffled(rng, range(vertices))
        pairs = itertools.combinations(range(vertices), 2)
        across = [(one, other) for one, other in pairs if (sides[one] - sides[other]) % 2]
        return sorted(base.shuffled(rng, across)[:count])
    for _ in range(6):
        degrees = [len(each) for each in graphs.neighbours(vertices, edges)]
        odd = sum(degree % 2 for degree in degrees)
        ringed = _two_sides(vertices, edges)[0].answer.value == "false"
        if odd > 2 if ask == "euler" else ringed:
            break
        edges = graphs.drawn(rng, vertices, count, connected=ask == "euler")
    return edges


def _evened(vertices: int, edges: list[graphs.Edge]) -> list[graphs.Edge]:
    """New edges between odd vertices, until two of these are left or no edge is new."""
    for _ in range(vertices):
        degrees = [len(each) for each in graphs.neighbours(vertices, edges)]
        odd = [place for place, degree in enumerate(degrees) if degree % 2]
        if len(odd) <= 2:
            break
        pairs = itertools.combinations(odd, 2)
        new = [pair for pair in pairs if pair not in edges]
        if not new:
            break
        edges = sorted([*edges, new[0]])
    return edges


def _walked(edges: Sequence[graphs.Edge]) -> bool:
    """Whether a walk over all edges is found: rings are taken out and put into one another."""
    beside: dict[int, list[int]] = {}
    for place, edge in enumerate(edges):
        for end in edge:
            beside.setdefault(end, []).append(place)
    odd = [vertex for vertex, places in beside.items() if len(places) % 2]
    stack, trail, used = [odd[0] if odd else edges[0][0]], [], set()
    while stack:
        here = stack[-1]
        while beside[here] and beside[here][-1] in used:
            beside[here].pop()
        if beside[here]:
            place = beside[here].pop()
            used.add(place)
            one, other = edges[place]
            stack.append(other if one == here else one)
        else:
            trail.append(stack.pop())
    steps = sorted(tuple(sorted(pair)) for pair in itertools.pairwise(trail))
    return steps == sorted(tuple(sorted(edge)) for edge in edges)


def _two_sides(vertices: int, edges: Sequence[graphs.Edge]) -> tuple[Gold, str]:
    """Sides given outwards from the first vertex of each part, and an edge that stays on one."""
    beside, side = graphs.neighbours(vertices, edges), [-1] * vertices
    for first in range(vertices):
        if side[first] >= 0:
            continue
        side[first], waiting = 0, [first]
        for here in waiting:
            for other in beside[here]:
                if side[other] < 0:
                    side[other] = 1 - side[here]
                    waiting.append(other)
    for one, other in edges:
        if side[one] == side[other]:
            return gold.boolean(False), (
                f"Whoever is next to a vertex must be on the other side. Going outwards, that puts "
                f"{graphs.NAMES[one]} and {graphs.NAMES[other]} on the same side, but an edge "
                f"joins "
                "them, so there is a ring of odd length."
            )
    left = "".join(graphs.NAMES[each] for each in range(vertices) if not side[each])
    right = "".join(graphs.NAMES[each] for each in range(vertices) if side[each])
    return gold.boolean(True), f"Every edge goes between the sides {left} and {right}."
