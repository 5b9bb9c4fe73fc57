"""Points with whole coordinates in texts, and simple polygons drawn at random."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from limite.problems.procedural import base

Point = tuple[int, ...]
_POINT = re.compile(r"\((-?[0-9]+(?:, -?[0-9]+)*)\)")


def listed(points: Iterable[Sequence[int]]) -> str:
    """``(1, 2), (-3, 4)``."""
    return ", ".join(f"({', '.join(map(str, point))})" for point in points)


def read(text: str) -> list[Point]:
    """The points that ``listed`` wrote."""
    return [tuple(int(part) for part in match.split(", ")) for match in _POINT.findall(text)]


def somewhere(rng: random.Random, size: int, dimension: int = 2) -> Point:
    """A point with coordinates from ``-size`` to ``size``."""
    return tuple(base.whole(rng, -size, size) for _ in range(dimension))


def nonzero(rng: random.Random, size: int) -> int:
    """A whole number from ``-size`` to ``size`` that is not zero."""
    number = base.whole(rng, 1, size)
    return -number if rng.random() < 0.5 else number


def factor(number: int) -> str:
    """A number as a factor, in brackets where it is negative."""
    return f"({number})" if number < 0 else str(number)


def simple_polygon(rng: random.Random, corners: int, size: int) -> list[tuple[int, int]]:
    """Corners in order, of a polygon whose sides do not cross: one chain above, one below."""
    above = base.whole(rng, 1, corners - 2) if corners > 3 else 1
    width = max(size, corners + 1)
    across = base.distinct(rng, corners - 2, 1, width - 1)
    upper = sorted(across[:above])
    lower = sorted(across[above:], reverse=True)
    flat = [(0, 0), *((x, base.whole(rng, 1, size)) for x in upper), (width, 0)]
    flat += [(x, -base.whole(rng, 1, size)) for x in lower]
    for _ in range(corners):  # where three corners are in line, the middle one moves outwards
        for place in range(corners):
            before, (x, y), after = flat[place - 1], flat[place], flat[(place + 1) % corners]
            if (x - before[0]) * (after[1] - y) == (y - before[1]) * (after[0] - x):
                flat[place] = (x, y + 1 if y > 0 else y - 1)
    # A shear keeps areas and what crosses what, and hides where the chains meet.
    slope, right, up = (base.whole(rng, -end, end) for end in (1, size, size))
    points = [(x + right, y + slope * x + up) for x, y in flat]
    if rng.random() < 0.5:
        points = [(y, x) for x, y in points]
    start = int(rng.random() * corners)
    return points[start:] + points[:start]


def triangle(rng: random.Random, size: int) -> tuple[Point, Point, Point]:
    """Three points that are not in line."""
    a, b, c = (somewhere(rng, size) for _ in range(3))
    if a == b:
        b = (b[0] + 1, b[1])
    while (b[0] - a[0]) * (c[1] - a[1]) == (b[1] - a[1]) * (c[0] - a[0]):
        c = (c[0], c[1] + 1) if b[0] != a[0] else (c[0] + 1, c[1])
    return a, b, c
