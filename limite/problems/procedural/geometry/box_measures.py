"""Boxes: diagonals, surfaces, volumes, and small cubes with painted faces."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_PAINTED = ("on no face", "on exactly one face", "on exactly two faces")


@attrs.frozen(kw_only=True)
class BoxMeasures(Family):
    """A diagonal, the volume or the surface of a box, or how many of its cubes are painted."""

    name = "box-measures"
    tag = "geometry/solids"
    wordings = Wordings(
        words={"thing": ("box", "crate", "room", "tank")},
        surface=(
            "A cuboid has edges of lengths $<a>$, $<b>$ and $<c>$. Find its surface area.",
            "A closed <thing> measures $<a>$ m by $<b>$ m by $<c>$ m inside. What is the total "
            "area of its six inner faces, in square metres?",
        ),
        diagonal=(
            "A cuboid has edges of lengths $<a>$, $<b>$ and $<c>$. Find the exact length of its "
            "space diagonal.",
            "A <thing> measures $<a>$ m by $<b>$ m by $<c>$ m inside. Find the exact length, in "
            "metres, of the longest straight thin rod that fits into it.",
        ),
        faces=(
            "Three faces of a cuboid that share a corner have areas $<a>$, $<b>$ and $<c>$. Find "
            "its volume.",
            "The faces of a <thing> have areas of $<a>$, $<b>$ and $<c>$ square metres, each of "
            "them twice. What is its volume in cubic metres?",
        ),
        diagonals=(
            "The edges of a cuboid that meet at a corner have total length $<a>$, and its space "
            "diagonal squared is $<b>$. Find its surface area.",
            "The length, the width and the height of a <thing> sum to $<a>$ m, and the squares of "
            "these lengths in metres sum to $<b>$. What is the total area of its six faces, in "
            "square metres?",
        ),
        painted=(
            "A wooden block of $<a>$ by $<b>$ by $<c>$ units is painted all over and then sawn "
            "into cubes of edge one unit. How many of them have paint <faces:text>?",
            "Unit cubes form a cuboid with edges $<a>$, $<b>$ and $<c>$, whose outside is "
            "painted. How many of the cubes have paint <faces:text>?",
        ),
        path=(
            "An ant walks on the surface of a cuboid with edges $<a>$, $<b>$ and $<c>$ from one "
            "corner to the opposite corner. Find the exact length of the shortest way.",
            "On the outside of a closed box of $<a>$ by $<b>$ by $<c>$ a thread is stretched from "
            "one corner to the corner farthest from it. What is the least length, exactly, that "
            "it can have?",
        ),
    )

    size: Ends = dial(9, 15, "longest edge", least=4, most=60)
    hard: Ends = dial(0, 0.9, "share that needs more than one formula", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a, b, c = (base.whole(rng, 2, size) for _ in range(3))
        values: dict[str, Any] = {"a": a, "b": b, "c": c}
        if rng.random() >= base.steady(self.hard, difficulty):
            if rng.random() < 0.5:
                return Drawn(
                    ask="surface",
                    values=values,
                    gold=gold.integer(2 * (a * b + b * c + c * a)),
                    steps=f"Each of the faces ${a} \\cdot {b} = {a * b}$, ${b} \\cdot {c} = "
                    f"{b * c}$ and ${c} \\cdot {a} = {c * a}$ occurs twice.",
                )
            square = a * a + b * b + c * c
            return Drawn(
                ask="diagonal",
                values=values,
                gold=surds.said(surds.root(square)),
                steps=f"By Pythagoras, twice, its square is ${a}^2 + {b}^2 + {c}^2 = {square}$.",
            )
        kind = base.chosen(rng, ("faces", "diagonals", "painted", "path"))
        if kind == "faces":
            first, second, third = a * b, b * c, c * a
            product = first * second * third
            return Drawn(
                ask=kind,
                values={"a": first, "b": second, "c": third},
                gold=gold.integer(a * b * c),
                steps=f"In the product of the three areas each edge occurs twice, so it is the "
                f"square of the volume: ${first} \\cdot {second} \\cdot {third} = {product}$. The "
                f"volume is its root.",
            )
        if kind == "diagonals":
            total, square = a + b + c, a * a + b * b + c * c
            return Drawn(
                ask=kind,
                values={"a": total, "b": square},
                gold=gold.integer(total * total - square),
                steps=f"The square of the sum of the edges is the sum of their squares and twice "
                f"the products in pairs, which is the surface. So the surface is ${total}^2 - "
                f"{square} = {total * total} - {square}$.",
            )
        if kind == "painted":
            faces = base.whole(rng, 0, 2)
            a, b, c = a + 1, b + 1, c + 1
            inner = (a - 2, b - 2, c - 2)
            said, found = (
                (
                    f"They fill a block that is ${inner[0]}$ by ${inner[1]}$ by ${inner[2]}$",
                    inner[0] * inner[1] * inner[2],
                ),
                (
                    f"They lie inside the faces, which have ${inner[0] * inner[1]}$, "
                    f"${inner[1] * inner[2]}$ and ${inner[2] * inner[0]}$ of them, each twice",
                    2 * (inner[0] * inner[1] + inner[1] * inner[2] + inner[2] * inner[0]),
                ),
                (
                    f"They lie along the edges without the corners: ${inner[0]}$, ${inner[1]}$ and "
                    f"${inner[2]}$ on each, four times",
                    4 * sum(inner),
                ),
            )[faces]
            return Drawn(
                ask=kind,
                values={"a": a, "b": b, "c": c, "faces": _PAINTED[faces]},
                gold=gold.integer(found),
                steps=f"Without the outer layer the edges are ${inner[0]}$, ${inner[1]}$ and "
                f"${inner[2]}$. {said}.",
            )
        low, mid, high = sorted((a, b, c))
        square = high * high + (low + mid) ** 2
        return Drawn(
            ask=kind,
            values=values,
            gold=surds.said(surds.root(square)),
            steps=f"Two neighbouring faces unfolded form a rectangle, whose diagonal is the way. "
            f"Its sides are one edge and the sum of the other two, and the diagonal is shortest "
            f"when the longest edge ${high}$ stands alone: its square is ${high}^2 + ({low} + "
            f"{mid})^2 = {square}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        a, b, c = values["a"], values["b"], values.get("c", 0)
        if ask == "surface":  # by counting the unit squares of each layer's rim, top and bottom
            rim = sum(1 for _ in range(c)) * 2 * (a + b)
            return gold.integer(rim + 2 * sum(b for _ in range(a)))
        if ask == "diagonal":  # the farthest of all corners from the one at the origin
            ends = itertools.product((0, a), (0, b), (0, c))
            return surds.said(surds.root(max(x * x + y * y + z * z for x, y, z in ends)))
        if ask == "path":  # the best of all places at which an edge is crossed, by unfolding
            ways = []
            for x, y, z in itertools.permutations((a, b, c)):
                # Over the edge of length x between faces x by y and x by z, crossed at t:
                # t : (x - t) = y : z keeps the way straight.
                t = Fraction(x * y, y + z)
                first, second = t * t + y * y, (x - t) ** 2 + z * z
                # Both parts are parallel, so that the roots add like y and z.
                ways.append(first * Fraction(y + z, y) ** 2)
                if second * y * y != first * z * z:
                    return None
            return surds.said(surds.root(min(ways)))
        if ask == "painted":
            wanted = _PAINTED.index(values["faces"]) if values["faces"] in _PAINTED else -1
            found = 0
            for x in range(a):
                for y in range(b):
                    across = (x in (0, a - 1)) + (y in (0, b - 1))
                    found += (c - 2) * (across == wanted) + 2 * (across + 1 == wanted)
            return gold.integer(found) if min(a, b, c) > 1 else None
        if ask == "faces":  # by trying the edge that the first and the last face share
            for edge in range(1, min(a, c) + 1):
                if a % edge == 0 and c % edge == 0 and (a // edge) * (c // edge) == b:
                    return gold.integer(edge * (a // edge) * (c // edge))
            return None
        # By trying all edges.
        surfaces = set()
        for x in range(1, a // 3 + 1):
            for y in range(x, (a - x) // 2 + 1):
                z = a - x - y
                if x * x + y * y + z * z == b:
                    surfaces.add(2 * (x * y + y * z + z * x))
        return gold.integer(surfaces.pop()) if len(surfaces) == 1 else None
