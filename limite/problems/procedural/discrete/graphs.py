"""Small graphs: drawn, listed in a text by their edges, and read back."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from limite.problems.procedural import base

NAMES = "ABCDEFGHJKLM"
Edge = tuple[int, int]
"""Two vertices by number, the smaller one first."""
_WEIGHTED = re.compile(r"([A-Z])([A-Z]) \(([0-9]+)\)")
_PLAIN = re.compile(r"\b([A-Z])([A-Z])\b")


def drawn(rng: random.Random, vertices: int, edges: int, *, connected: bool = False) -> list[Edge]:
    """A graph with this many edges, in order; ``connected`` by a tree drawn first."""
    chosen: set[Edge] = set()
    if connected:
        order = base.shuffled(rng, range(vertices))
        for place in range(1, vertices):
            one, other = order[place], order[int(rng.random() * place)]
            chosen.add((min(one, other), max(one, other)))
    pairs = [(one, other) for other in range(vertices) for one in range(other)]
    for pair in base.shuffled(rng, pairs):
        if len(chosen) >= edges:
            break
        chosen.add(pair)
    return sorted(chosen)


def named(vertices: int) -> str:
    """The vertices in a row: ``A, B, C``."""
    return ", ".join(NAMES[:vertices])


def text_of(edges: Sequence[Edge], weights: Mapping[Edge, int] | None = None) -> str:
    """``AB, BC`` or, with weights, ``AB (4), BC (7)``."""
    return ", ".join(
        NAMES[one] + NAMES[other] + (f" ({weights[one, other]})" if weights else "")
        for one, other in edges
    )


def read(text: str) -> list[Edge]:
    """The edges of a text without weights, each from the vertex that is written first."""
    return [(NAMES.index(one), NAMES.index(other)) for one, other in _PLAIN.findall(text)]


def read_weighted(text: str) -> dict[Edge, int]:
    """The edges of a text with their weights."""
    return {
        (NAMES.index(one), NAMES.index(other)): int(weight)
        for one, other, weight in _WEIGHTED.findall(text)
    }


def neighbours(vertices: int, edges: Sequence[Edge]) -> list[list[int]]:
    """The vertices next to each vertex, in order."""
    found: list[list[int]] = [[] for _ in range(vertices)]
    for one, other in edges:
        found[one].append(other)
        found[other].append(one)
    return [sorted(each) for each in found]


def count_of(text: str) -> int:
    """How many vertices a list of them names."""
    return text.count(",") + 1
