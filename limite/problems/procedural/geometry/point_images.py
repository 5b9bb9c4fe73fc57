"""Images of points under reflections, rotations, translations and enlargements."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_KINDS = {
    "axis_x": "reflected in the $x$-axis",
    "axis_y": "reflected in the $y$-axis",
    "diagonal": "reflected in the line $y = x$",
    "upright": "reflected in the line $x = <a>$",
    "level": "reflected in the line $y = <a>$",
    "antidiagonal": "reflected in the line $y = -x$",
    "centre": "reflected in the point $(<a>, <b>)$",
    "left": "rotated by $90$ degrees anticlockwise about $(<a>, <b>)$",
    "right": "rotated by $90$ degrees clockwise about $(<a>, <b>)$",
    "moved": "moved by the vector $(<a>, <b>)$",
    "enlarged": "stretched from the centre $(<a>, <b>)$ by the factor $<k>$",
}
_READ = {
    name: re.compile(
        re.escape(text)
        .replace("<a>", "(?P<a>-?[0-9]+)")
        .replace("<b>", "(?P<b>-?[0-9]+)")
        .replace("<k>", "(?P<k>[0-9]+)")
    )
    for name, text in _KINDS.items()
}


@attrs.frozen(kw_only=True)
class PointImages(Family):
    """Where a point goes under reflections, rotations, translations and stretches."""

    name = "point-images"
    tag = "geometry/transformations"
    wordings = Wordings(
        image=(
            "The point $(<p:integers>)$ is <steps:text>. Find the coordinates of its image.",
            "What are the coordinates of the point that arises when $(<p:integers>)$ is "
            "<steps:text>?",
        ),
        origin=(
            "A point is <steps:text>. Its image is $(<p:integers>)$. Find the coordinates of the "
            "point itself.",
            "Which point goes to $(<p:integers>)$ when it is <steps:text>?",
        ),
    )

    steps: Ends = dial(1, 4, "how many transformations", least=1, most=8)
    size: Ends = dial(6, 9, "largest coordinate", least=2, most=1000)
    backwards: Ends = dial(0, 0.6, "share that gives the image", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.steps, difficulty))
        size = round(base.steady(self.size, difficulty))
        x, y = points.nonzero(rng, size), points.nonzero(rng, size)
        start, said, places, before = (x, y), [], [], ""
        for _ in range(count):
            kinds = [kind for kind in _KINDS if kind != before]
            before = kind = base.chosen(rng, kinds)
            a, b, k = points.nonzero(rng, 5), points.nonzero(rng, 5), base.whole(rng, 2, 3)
            image = {
                "axis_x": (x, -y),
                "axis_y": (-x, y),
                "diagonal": (y, x),
                "antidiagonal": (-y, -x),
                "upright": (2 * a - x, y),
                "level": (x, 2 * a - y),
                "centre": (2 * a - x, 2 * b - y),
                "left": (a - (y - b), b + (x - a)),
                "right": (a + (y - b), b - (x - a)),
                "moved": (x + a, y + b),
                "enlarged": (a + k * (x - a), b + k * (y - b)),
            }[kind]
            if image == (x, y):  # a point that stays is no question
                before = kind = "moved"
                image = (x + a, y + b)
            x, y = image
            text = _KINDS[kind].replace("<a>", str(a)).replace("<b>", str(b))
            said.append(text.replace("<k>", str(k)))
            places.append(f"$({x}, {y})$")
        steps = ", then ".join(said)
        way = ", then ".join(places)
        if rng.random() < base.steady(self.backwards, difficulty):
            back = [f"$({start[0]}, {start[1]})$", *places[:-1]][::-1]
            return Drawn(
                ask="origin",
                values={"steps": steps, "p": (x, y)},
                gold=gold.ordered(start),
                steps=f"Undo the last transformation first. Going back from $({x}, {y})$, it "
                f"is at {', then '.join(back)}.",
            )
        return Drawn(
            ask="image",
            values={"steps": steps, "p": start},
            gold=gold.ordered((x, y)),
            steps=f"After each transformation in turn, the point is at {way}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # As maps z -> u z + v or u z' + v of complex numbers, z' being the conjugate, put
        # together to one such map, which is solved for z where the image is given.
        whole: _Map = ((1, 0), (0, 0), False)
        for text in values["steps"].split(", then "):
            step = _as_map(text)
            if step is None:
                return None
            whole = _after(step, whole)
        (u, v, turned), p = whole, values["p"]
        if ask == "image":
            image = _plus(_times(u, _bar(p) if turned else p), v)
            return gold.ordered(image)
        size = u[0] ** 2 + u[1] ** 2
        product = _times(_plus(p, (-v[0], -v[1])), _bar(u))
        x, y = (Fraction(part, size) for part in product)
        return gold.ordered((x, -y if turned else y))


_Number = tuple[int, int]
_Map = tuple[_Number, _Number, bool]


def _as_map(text: str) -> _Map | None:
    for kind, pattern in _READ.items():
        match = pattern.fullmatch(text)
        if match is None:
            continue
        found = {name: int(size) for name, size in match.groupdict().items()}
        a, b, k = found.get("a", 0), found.get("b", 0), found.get("k", 1)
        if kind == "moved":
            return (1, 0), (a, b), False
        # Reflections in lines keep one complex number up to the conjugate.
        lines: dict[str, _Map] = {
            "axis_x": ((1, 0), (0, 0), True),
            "axis_y": ((-1, 0), (0, 0), True),
            "diagonal": ((0, 1), (0, 0), True),
            "antidiagonal": ((0, -1), (0, 0), True),
            "upright": ((-1, 0), (2 * a, 0), True),
            "level": ((1, 0), (0, 2 * a), True),
        }
        if kind in lines:
            return lines[kind]
        # All others keep the centre: z -> c + u (z - c).
        u = {"centre": (-1, 0), "left": (0, 1), "right": (0, -1), "enlarged": (k, 0)}[kind]
        held = _times(u, (a, b))
        return u, (a - held[0], b - held[1]), False
    return None


def _after(second: _Map, first: _Map) -> _Map:
    (u, v, turned), (s, t, was_turned) = second, first
    if turned:
        s, t = _bar(s), _bar(t)
    return _times(u, s), _plus(_times(u, t), v), turned != was_turned


def _times(left: _Number, right: _Number) -> _Number:
    return left[0] * right[0] - left[1] * right[1], left[0] * right[1] + left[1] * right[0]


def _plus(left: _Number, right: _Number) -> _Number:
    return left[0] + right[0], left[1] + right[1]


def _bar(number: _Number) -> _Number:
    return number[0], -number[1]
