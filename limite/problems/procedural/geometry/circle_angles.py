"""Angles between chords, secants and tangents of a circle, from its arcs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_GIVEN = (
    "The points $<points:text>$ lie on a circle in this order. Going around once, the arcs "
    "from each point to the next, and from the last to the first, measure $<arcs:integers>$ "
    "degrees. "
)
_RATIO = (
    "The points $<points:text>$ lie on a circle in this order and cut it into arcs. From each "
    "point to the next, and from the last to the first, these arcs are in the ratio of the "
    "numbers $<arcs:integers>$. "
)

_ASKED = {
    "inscribed": (
        "How many degrees does the angle $<angle:word>$ measure?",
        "Find the angle $<angle:word>$ in degrees.",
    ),
    "chords": (
        "The chords $<first:word>$ and $<second:word>$ meet at $P$. How many degrees does the "
        "angle $<angle:word>$ measure?",
        "Let $P$ be the point where the chords $<first:word>$ and $<second:word>$ cross. Find "
        "the angle $<angle:word>$ in degrees.",
    ),
    "secants": (
        "The lines $<first:word>$ and $<second:word>$ meet outside the circle. How many degrees "
        "does the acute angle between them measure?",
        "Find the acute angle, in degrees, between the lines $<first:word>$ and $<second:word>$.",
    ),
    "tangents": (
        "The tangents to the circle at $<first:word>$ and $<second:word>$ meet at $P$. How many "
        "degrees does the angle $<angle:word>$ measure?",
        "Let $P$ be the point where the tangents at $<first:word>$ and $<second:word>$ meet. "
        "Find the angle $<angle:word>$ in degrees.",
    ),
}
_WORDINGS: Any = {
    ask + suffix: tuple(begin + end for end in ends)
    for suffix, begin in (("", _GIVEN), ("_ratio", _RATIO))
    for ask, ends in _ASKED.items()
}


@attrs.frozen(kw_only=True)
class CircleAngles(Family):
    """An angle in a circle: inscribed, between chords or secants, or between two tangents."""

    name = "circle-angles"
    tag = "geometry/circles"
    wordings = Wordings(**_WORDINGS)

    points: Ends = dial(3, 7, "how many points on the circle", least=3, most=7)
    indirect: Ends = dial(0, 0.8, "share that gives the ratio of the arcs", least=0, most=1)
    outside: Ends = dial(0, 0.85, "share of angles with no corner on the circle", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.points, difficulty))
        other = rng.random() < base.steady(self.outside, difficulty)
        arcs = _arcs(rng, count)
        names = "ABCDEFG"[:count]
        values: dict[str, Any] = {"points": ", ".join(names), "arcs": arcs}
        ask, angle, steps = self._asked(rng, values, other)
        if rng.random() < base.steady(self.indirect, difficulty):
            unit = math.gcd(*arcs)
            values["arcs"] = [arc // unit for arc in arcs]
            ask += "_ratio"
            steps = (
                f"There are ${360 // unit}$ parts, of $360 : {360 // unit} = {unit}$ degrees "
                f"each, so the arcs measure ${', '.join(map(str, arcs))}$ degrees. {steps}"
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(angle, "degrees"), steps=steps)

    def _asked(
        self, rng: random.Random, values: dict[str, Any], other: bool
    ) -> tuple[str, int, str]:
        """What is asked about the arcs, the angle and the steps; adds to ``values``."""
        arcs = values["arcs"]
        count = len(arcs)
        names = "ABCDEFG"[:count]
        if other and count > 3 and rng.random() < 0.7:
            a, b, c, d = sorted(base.distinct(rng, 4, 0, count - 1))
            near, far = sum(arcs[a:b]), sum(arcs[c:d])
            if rng.random() < 0.5 or near == far or abs(near - far) >= 180:
                angle = (near + far) // 2
                values |= {"first": names[a] + names[c], "second": names[b] + names[d]}
                values["angle"] = f"{names[a]}P{names[b]}"
                steps = (
                    f"The angle between two chords is half the sum of the two arcs that it and "
                    f"its opposite angle cut off: arc ${names[a]}{names[b]}$ of ${near}$ degrees "
                    f"and arc ${names[c]}{names[d]}$ of ${far}$ degrees. Half of ${near} + {far}$ "
                    f"is ${angle}$."
                )
                return "chords", angle, steps
            angle = abs(near - far) // 2
            values |= {"first": names[a] + names[d], "second": names[b] + names[c]}
            steps = (
                f"The angle between two secants that meet outside is half the difference of the "
                f"arcs between them: arc ${names[a]}{names[b]}$ of ${near}$ degrees and arc "
                f"${names[c]}{names[d]}$ of ${far}$ degrees. Half of ${max(near, far)} - "
                f"{min(near, far)}$ is ${angle}$."
            )
            return "secants", angle, steps
        if other:
            a, b = sorted(base.distinct(rng, 2, 0, count - 1))
            arc = min(sum(arcs[a:b]), 360 - sum(arcs[a:b]))
            if arc < 180:
                values |= {"first": names[a], "second": names[b]}
                values["angle"] = f"{names[a]}P{names[b]}"
                steps = (
                    f"The smaller arc between ${names[a]}$ and ${names[b]}$ measures ${arc}$ "
                    f"degrees, and so does the angle between the radii to them. Tangents stand "
                    f"square on these radii, so the angle at $P$ is $180 - {arc} = {180 - arc}$ "
                    f"degrees."
                )
                return "tangents", 180 - arc, steps
        a, b, c = base.distinct(rng, 3, 0, count - 1)
        low, high = min(a, c), max(a, c)
        arc = sum(arcs[low:high])
        if low < b < high:
            arc = 360 - arc
        values["angle"] = names[a] + names[b] + names[c]
        steps = (
            f"The arc from ${names[a]}$ to ${names[c]}$ that does not hold ${names[b]}$ measures "
            f"${arc}$ degrees. An inscribed angle is half of its arc: ${arc} : 2 = {arc // 2}$."
        )
        return "inscribed", arc // 2, steps

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By measuring: the points are set on a circle, and the angle is taken between lines.
        ask = ask.removesuffix("_ratio")
        names, place, at = values["points"].split(", "), {}, 0.0
        if len(names) != len(values["arcs"]):
            return None
        whole = sum(values["arcs"])
        for name, arc in zip(names, values["arcs"], strict=True):
            place[name] = (math.cos(at), math.sin(at))
            at += 2 * math.pi * arc / whole
        if ask in ("chords", "secants"):
            first, second = values["first"], values["second"]
            corner = _crossing(*(place[name] for name in first + second))
            ends = (values["angle"][0], values["angle"][2]) if ask == "chords" else ""
            rays = [place[name] for name in ends or (first[0], second[0])]
        elif ask == "tangents":
            one, other = place[values["first"]], place[values["second"]]
            scale = 1 + one[0] * other[0] + one[1] * other[1]
            corner = ((one[0] + other[0]) / scale, (one[1] + other[1]) / scale)
            rays = [one, other]
        else:
            corner = place[values["angle"][1]]
            rays = [place[values["angle"][0]], place[values["angle"][2]]]
        angle = math.degrees(_between(corner, rays))
        if ask == "secants":
            angle = min(angle, 180 - angle)
        if abs(angle - round(angle)) > 1e-6:
            return None
        return gold.integer(round(angle), "degrees")


def _arcs(rng: random.Random, count: int) -> list[int]:
    """Even numbers that sum to 360, each at least 16."""
    cuts = sorted(base.distinct(rng, count - 1, 1, 180 - 8 * count + count - 1))
    ends = [0, *cuts, 180 - 8 * count + count]
    return [2 * (high - low + 7) for low, high in itertools.pairwise(ends)]


def _crossing(*ends: Sequence[float]) -> tuple[float, float]:
    """Where the line through the first two points meets the line through the others."""
    (x, y), (p, q), (u, v), (s, t) = ends
    first, second = x * q - y * p, u * t - v * s
    below = (x - p) * (v - t) - (y - q) * (u - s)
    return (
        (first * (u - s) - (x - p) * second) / below,
        (first * (v - t) - (y - q) * second) / below,
    )


def _between(corner: Sequence[float], rays: Sequence[Sequence[float]]) -> float:
    (a, b), (c, d) = ((x - corner[0], y - corner[1]) for x, y in rays)
    return abs(math.atan2(a * d - b * c, a * c + b * d))
