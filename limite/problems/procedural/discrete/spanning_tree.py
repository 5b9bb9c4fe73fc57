"""The cheapest network that connects all places."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.discrete import graphs
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class SpanningTree(Family):
    """The smallest total weight of a network that connects all places."""

    name = "minimum-spanning-tree"
    tag = "discrete/graphs"
    wordings = Wordings(
        "The villages <places:text> can be joined by cables. The possible cables and their costs "
        "are: <edges:text>. What is the lowest total cost of cables that connect all villages, "
        "directly or through others?",
        "A graph has the vertices <places:text> and these edges with weights in parentheses: "
        "<edges:text>. Find the weight of its minimum spanning tree.",
    )

    places: Ends = dial(4, 9, "how many places", least=3, most=12)
    largest: Ends = dial(9, 50, "largest cost", least=3, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        places = base.whole_near(rng, base.steady(self.places, difficulty))
        count = min(places + base.whole(rng, 1, 1 + places), places * (places - 1) // 2)
        edges = graphs.drawn(rng, places, count, connected=True)
        largest = base.steady(self.largest, difficulty)
        weights = {edge: base.whole(rng, 2, largest) for edge in edges}
        # Cheapest first, unless both ends are in one group already.
        group = list(range(places))
        taken = []
        for edge in sorted(edges, key=lambda edge: (weights[edge], edge)):
            old, new = group[edge[0]], group[edge[1]]
            if old != new:
                taken.append(edge)
                group = [new if each == old else each for each in group]
        total = " + ".join(str(weights[edge]) for edge in taken)
        return Drawn(
            values={
                "places": graphs.named(places),
                "edges": graphs.text_of(edges, weights),
            },
            gold=gold.integer(sum(weights[edge] for edge in taken)),
            steps=f"Take the cheapest one that closes no ring, again and again: "
            f"{graphs.text_of(taken, weights)}. These connect everything for ${total}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # One tree that grows from the first vertex.
        weights = graphs.read_weighted(values["edges"])
        inside, total = {0}, 0
        while len(inside) < graphs.count_of(values["places"]):
            out = [
                (weight, edge)
                for edge, weight in weights.items()
                if (edge[0] in inside) != (edge[1] in inside)
            ]
            if not out:
                return None
            weight, edge = min(out)
            inside.update(edge)
            total += weight
        return gold.integer(total)
