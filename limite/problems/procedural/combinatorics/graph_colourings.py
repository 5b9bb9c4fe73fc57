"""Proper colourings of graphs, rings and ladders."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.combinatorics.counting import listed
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_NOT_ALL = "Not all colours need be used, and turned or mirrored colourings count as different."


@attrs.frozen(kw_only=True)
class GraphColourings(Family):
    """How many ways a map or a graph can be coloured so that neighbours differ."""

    name = "graph-colourings"
    tag = "combinatorics/colourings"
    wordings = Wordings(
        words={"plots": ("flower beds", "rooms", "stalls", "tiles", "fields")},
        row=(
            "$<size>$ <plots> in a row are each coloured in one of $<colours>$ colours so that "
            f"neighbours have different colours. In how many ways can this be done? {_NOT_ALL}",
        ),
        ring=(
            "$<size>$ <plots> around a circular path are each coloured in one of $<colours>$ "
            "colours so that neighbours have different colours. In how many ways can this be "
            f"done? {_NOT_ALL}",
            "In how many ways can the corners of a regular polygon with $<size>$ corners be "
            "coloured with $<colours>$ colours so that the ends of each side have different "
            f"colours? {_NOT_ALL}",
        ),
        ladder=(
            "The squares of a board with $2$ rows and $<size>$ columns are each coloured in one of "
            "$<colours>$ colours so that squares with a common side have different colours. In "
            f"how many ways can this be done? {_NOT_ALL}",
        ),
        graph=(
            "A graph has the vertices <vertices:text> and the edges <edges:text>. In how many ways "
            "can its vertices be coloured with $<colours>$ given colours so that the ends of every "
            "edge have different colours? Not all colours need be used.",
            "On a map with the countries <vertices:text>, exactly these pairs are neighbours: "
            "<edges:text>. Each country gets one of $<colours>$ given colours, and neighbours get "
            "different ones. In how many ways can the map be coloured, if not all colours need be "
            "used?",
        ),
    )

    size: Ends = dial(3, 8, "how many vertices, or columns", least=3, most=12)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.size, difficulty)
        size = base.whole(rng, max(3, int(most) - 2), most)
        colours = base.whole(rng, 3, 4 + 3 * difficulty)
        ask = base.rising(
            rng, ("row", "graph", "graph", "ring", "graph", "graph", "ladder"), difficulty
        )
        values = {"size": size, "colours": colours}
        if ask == "graph":
            return _graph(rng, size + 1, colours, difficulty)
        less = colours - 1
        if ask == "row":
            found = colours * less ** (size - 1)
            steps = (
                f"There are ${colours}$ colours for the first and ${less}$ for each that follows: "
                f"${colours} \\cdot {less}^{{{size - 1}}} = {found}$."
            )
        elif ask == "ring":
            counts = [colours * less]
            for around in range(3, size + 1):
                counts.append(colours * less ** (around - 1) - counts[-1])
            found = counts[-1]
            steps = (
                f"Cut the ring: a row of $n$ has ${colours} \\cdot {less}^{{n - 1}}$ colourings. "
                f"Where its ends have the same colour they can be glued to a ring of $n - 1$. So "
                f"$r(n) = {colours} \\cdot {less}^{{n - 1}} - r(n - 1)$ with $r(2) = {counts[0]}$, "
                + (
                    f"and $r(3), \\dots, r({size})$ are ${', '.join(map(str, counts[1:]))}$."
                    if size > 3
                    else f"and $r(3) = {counts[1]}$."
                )
            )
        else:
            factor = colours * colours - 3 * colours + 3
            found = colours * less * factor ** (size - 1)
            steps = (
                f"The first column can be coloured in ${colours} \\cdot {less} = {colours * less}$ "
                f"ways. Of the ${colours * less}$ pairs of different colours for the next one, "
                f"${less}$ repeat the upper colour, ${less}$ repeat the lower one and ${1}$ does "
                f"both, so ${colours * less} - {2 * less} + 1 = {factor}$ are left. Together "
                f"${colours * less} \\cdot {factor}^{{{size - 1}}} = {found}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        size = values.get("size", 0)
        if ask == "graph":
            names = values["vertices"].split(", ")
            places = {name: place for place, name in enumerate(names)}
            size = len(names)
            edges = [(places[edge[0]], places[edge[1]]) for edge in values["edges"].split(", ")]
        elif ask == "ladder":
            edges = [(2 * at, 2 * at + 1) for at in range(size)]
            edges += [(at, at + 2) for at in range(2 * size - 2)]
            size *= 2
        else:
            edges = [(at, at + 1) for at in range(size - 1)] + [(0, size - 1)] * (ask == "ring")
        return gold.integer(_colourings(size, edges, values["colours"]))


def _graph(rng: random.Random, size: int, colours: int, difficulty: float) -> Drawn:
    """A graph that grows by vertices whose neighbours so far all differ in colour anyway."""
    names = "ABCDEFGHIJKLM"[:size]
    cliques: list[tuple[int, ...]] = [(0,)]
    edges: list[tuple[int, int]] = []
    found, parts = colours, [f"A can have ${colours}$ colours"]
    factors = [colours]
    for vertex in range(1, size):
        clique = base.chosen(rng, cliques)
        if len(clique) == 1 and vertex > 1:
            clique = base.chosen(rng, cliques)
        if len(clique) >= min(3, colours - 1):
            clique = clique[1:]
        edges += [(old, vertex) for old in clique]
        cliques += [(vertex,), *((old, vertex) for old in clique)]
        if len(clique) == 2:
            cliques.append((*clique, vertex))
        left = colours - len(clique)
        found *= left
        factors.append(left)
        near = listed([names[old] for old in clique])
        parts.append(f"{names[vertex]}, next to {near}, ${left}$")
    product = " \\cdot ".join(map(str, factors))
    shown = base.shuffled(rng, [f"{names[a]}{names[b]}" for a, b in edges])
    return Drawn(
        ask="graph",
        values={"vertices": ", ".join(names), "edges": ", ".join(shown), "colours": colours},
        gold=gold.integer(found),
        steps=f"Colour one after the other; earlier neighbours of each are neighbours of each "
        f"other, so that their colours differ. {'; '.join(parts)}. The product is "
        f"${product} = {found}$.",
    )


def _colourings(size: int, edges: Sequence[tuple[int, int]], colours: int) -> int:
    """Vertex after vertex: how many colourings there are for each way in which vertices that
    still have edges to come share their colours."""
    before: list[list[int]] = [[] for _ in range(size)]
    last = list(range(size))
    for one, other in edges:
        low, high = min(one, other), max(one, other)
        before[high].append(low)
        last[low] = max(last[low], high)
    alive: list[int] = []
    ways: dict[tuple[int, ...], int] = {(): 1}
    for vertex in range(size):
        kept = [each for each in [*alive, vertex] if last[each] > vertex]
        after: dict[tuple[int, ...], int] = {}
        for shared, count in ways.items():
            of = dict(zip(alive, shared, strict=True))
            closed = {of[each] for each in before[vertex]}
            used = set(shared)
            fresh = colours - len(used)
            for colour, times in [(each, 1) for each in used - closed] + [(-1, fresh)]:
                if times > 0:
                    of[vertex] = colour
                    numbers: dict[int, int] = {}
                    key = tuple(numbers.setdefault(of[each], len(numbers)) for each in kept)
                    after[key] = after.get(key, 0) + count * times
        alive, ways = kept, after
    return sum(ways.values())
