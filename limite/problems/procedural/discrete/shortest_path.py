"""Shortest routes in a network of roads."""

from __future__ import annotations

import heapq
import itertools
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
class ShortestPath(Family):
    """The length of the shortest route between two places in a network."""

    name = "shortest-path"
    tag = "discrete/graphs"
    wordings = Wordings(
        "Roads join the places <places:text>. Their lengths in km are: <edges:text>. All roads can "
        "be used both ways. How many kilometres long is the shortest route from <start:word> to "
        "<goal:word>?",
        "An undirected graph has the vertices <places:text> and these edges with weights in "
        "parentheses: <edges:text>. What is the smallest total weight of a path from <start:word> "
        "to <goal:word>?",
        "Messages between the stations <places:text> go along these lines, in either direction, "
        "each with its cost in parentheses: <edges:text>. What is the lowest cost of a message "
        "from <start:word> to <goal:word>?",
    )

    places: Ends = dial(4, 9, "how many places", least=3, most=12)
    longest: Ends = dial(9, 40, "longest road", least=3, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        places = base.whole_near(rng, base.steady(self.places, difficulty))
        count = min(places + base.whole(rng, 1, 1 + places / 2), places * (places - 1) // 2)
        edges = graphs.drawn(rng, places, count, connected=True)
        longest = base.steady(self.longest, difficulty)
        weights = {edge: base.whole(rng, 2, longest) for edge in edges}
        start = int(rng.random() * places)
        beside = graphs.neighbours(places, edges)
        distance, before, waiting = {start: 0}, {start: start}, [(0, start)]
        order = []
        while waiting:
            far, here = heapq.heappop(waiting)
            if here in order:
                continue
            order.append(here)
            for other in beside[here]:
                after = far + weights[min(here, other), max(here, other)]
                if other not in distance or after < distance[other]:
                    distance[other], before[other] = after, here
                    heapq.heappush(waiting, (after, other))
        legs_to = {start: 0}
        for each in order[1:]:
            legs_to[each] = legs_to[before[each]] + 1
        wanted = min(base.whole_near(rng, 1 + 2 * difficulty), max(legs_to.values()))
        goal = base.chosen(rng, [each for each in order if legs_to[each] >= wanted])
        path = [goal]
        while path[-1] != start:
            path.append(before[path[-1]])
        path.reverse()
        settled = order[1 : order.index(goal) + 1]
        reached = ", ".join(
            f"{graphs.NAMES[each]} at ${distance[each]}$ (from {graphs.NAMES[before[each]]})"
            for each in settled
        )
        legs = " + ".join(str(weights[min(pair), max(pair)]) for pair in itertools.pairwise(path))
        return Drawn(
            values={
                "places": graphs.named(places),
                "edges": graphs.text_of(edges, weights),
                "start": graphs.NAMES[start],
                "goal": graphs.NAMES[goal],
            },
            gold=gold.integer(distance[goal]),
            steps=f"Settle the nearest place that is left, again and again from "
            f"{graphs.NAMES[start]}: {reached}. The route "
            f"{'-'.join(graphs.NAMES[each] for each in path)} has the length ${legs}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Bounds that every edge improves, as often as a path can have edges.
        weights = graphs.read_weighted(values["edges"])
        count = graphs.count_of(values["places"])
        bound = [sum(weights.values()) + 1] * count
        bound[graphs.NAMES.index(values["start"])] = 0
        for _ in range(count):
            for (one, other), weight in weights.items():
                bound[other] = min(bound[other], bound[one] + weight)
                bound[one] = min(bound[one], bound[other] + weight)
        found = bound[graphs.NAMES.index(values["goal"])]
        return gold.integer(found) if found <= sum(weights.values()) else None
