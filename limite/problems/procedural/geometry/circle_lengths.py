"""Chords, secants and tangents of circles: their lengths."""

from __future__ import annotations

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


@attrs.frozen(kw_only=True)
class CircleLengths(Family):
    """The length of a chord, of a tangent, or of a part of a chord through a given point."""

    name = "circle-lengths"
    tag = "geometry/circles"
    wordings = Wordings(
        chord=(
            "A chord of a circle of radius $<r>$ is at distance $<d>$ from the centre. Find its "
            "exact length.",
            "How long, exactly, is a chord of a circle with radius $<r>$ whose midpoint is $<d>$ "
            "from the centre?",
        ),
        tangent=(
            "From a point at distance $<d>$ from the centre of a circle of radius $<r>$ a tangent "
            "is drawn. Find the exact distance from the point to the point of contact.",
            "A point $P$ is $<d>$ away from the centre of a circle of radius $<r>$, and a tangent "
            "from $P$ touches the circle at $T$. What is the exact length of $PT$?",
        ),
        chords=(
            "Two chords $AB$ and $CD$ of a circle meet at $P$ inside it. $PA = <a>$, $PB = <b>$ "
            "and $PC = <c>$. Find the length of $PD$.",
            "Inside a circle the chords $AB$ and $CD$ cross at $P$, so that $PA = <a>$, "
            "$PB = <b>$ and $PC = <c>$. How long is $PD$?",
        ),
        secant=(
            "From a point $P$ outside a circle a tangent touches it at $T$, and a line through "
            "$P$ meets it first at $A$ and then at $B$. $PA = <a>$ and $AB = <b>$. Find the exact "
            "length of $PT$.",
            "A line through $P$ meets a circle at $A$ and further away at $B$, with $PA = <a>$ "
            "and $AB = <b>$. What is the exact length of a tangent from $P$ to the circle?",
        ),
        outer=(
            "Two circles of radii $<r>$ and $<s>$ have their centres $<d>$ apart. Find the exact "
            "distance between the points of contact of a common tangent that has both circles on "
            "the same side.",
            "A straight line touches two circles, of radii $<r>$ and $<s>$, on the same side of "
            "it. Their centres are $<d>$ apart. Exactly how far apart are the points of contact?",
        ),
        inner=(
            "Two circles of radii $<r>$ and $<s>$ have their centres $<d>$ apart. Find the exact "
            "distance between the points of contact of a common tangent that passes between the "
            "circles.",
            "A straight line touches two circles, of radii $<r>$ and $<s>$, which lie on different "
            "sides of it. Their centres are $<d>$ apart. Exactly how far apart are the points of "
            "contact?",
        ),
    )

    size: Ends = dial(20, 45, "largest radius", least=4, most=1000)
    two: Ends = dial(0, 0.9, "share with two chords or two circles", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        r, s = base.whole(rng, 2, size), base.whole(rng, 1, size)
        if rng.random() >= base.steady(self.two, difficulty):
            small, large = min(r, s), max(r, s) + 1
            square = large * large - small * small
            if rng.random() < 0.5:
                return Drawn(
                    ask="chord",
                    values={"r": large, "d": small},
                    gold=surds.said(surds.times(surds.root(square), 2)),
                    steps=f"Half of the chord, the distance and the radius form a right triangle, "
                    f"so the square of the half is ${large}^2 - {small}^2 = {square}$, and the "
                    f"chord is $2\\sqrt{{{square}}}$.",
                )
            return Drawn(
                ask="tangent",
                values={"r": small, "d": large},
                gold=surds.said(surds.root(square)),
                steps=f"The tangent stands square on the radius to the point of contact, so the "
                f"square of its length is ${large}^2 - {small}^2 = {square}$.",
            )
        kind = base.chosen(rng, ("chords", "secant", "outer", "inner"))
        if kind == "chords":
            a, b, c = (base.whole(rng, 2, size) for _ in range(3))
            return Drawn(
                ask=kind,
                values={"a": a, "b": b, "c": c},
                gold=gold.rational(Fraction(a * b, c)),
                steps=f"The products of the parts of both chords are equal: ${a} \\cdot {b} = {c} "
                f"\\cdot PD$, so $PD = \\frac{{{a * b}}}{{{c}}}$.",
            )
        if kind == "secant":
            a, b = base.whole(rng, 1, size), base.whole(rng, 2, size)
            return Drawn(
                ask=kind,
                values={"a": a, "b": b},
                gold=surds.said(surds.root(a * (a + b))),
                steps=f"The square of the tangent is the product $PA \\cdot PB$. Here $PB = {a} + "
                f"{b} = {a + b}$, so it is ${a} \\cdot {a + b} = {a * (a + b)}$.",
            )
        d = r + s + base.whole(rng, 1, size)
        across = r - s if kind == "outer" else r + s
        said = f"{max(r, s)} - {min(r, s)}" if kind == "outer" else f"{r} + {s}"
        square = d * d - across * across
        return Drawn(
            ask=kind,
            values={"r": r, "s": s, "d": d},
            gold=surds.said(surds.root(square)),
            steps=f"Both radii to the points of contact are square to the tangent. Moving the "
            f"tangent parallel through one centre gives a right triangle with hypotenuse ${d}$ and "
            f"a leg ${said} = {abs(across)}$. The square of the other leg is ${d}^2 - "
            f"{abs(across)}^2 = {square}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # In coordinates, and for two circles from the point that sees both alike.
        if ask == "chords":
            # P = (0, 0), A = (-a, 0), B = (b, 0), C = (0, -c): the circle x^2 + y^2 + ux + vy = w
            # through them, solved for its other point on the y-axis.
            a, b, c = values["a"], values["b"], values["c"]
            u = Fraction(a * a - b * b, a + b)
            w = a * a - u * a
            v = (c * c - w) / Fraction(c)
            return gold.rational(-v + c)
        if ask == "secant":
            # The circle with diameter AB on the x-axis: the point of contact is on the polar of P.
            r = Fraction(values["b"], 2)
            return _tangent(values["a"] + r, r)
        if ask == "chord":
            r, d = values["r"], values["d"]
            # y^2 + d^2 - r^2 = 0 has roots with the distance of the root of its discriminant.
            return surds.said(surds.root(4 * (r * r - d * d))) if r > d else None
        if ask == "tangent":
            return _tangent(Fraction(values["d"]), Fraction(values["r"]))
        r, s, d = (Fraction(values[name]) for name in "rsd")
        if d <= r + s:
            return None
        if ask == "outer" and r == s:
            return surds.said({1: d})
        other = -s if ask == "outer" else s
        seen = d * r / (r + other)  # how far the point is from the first centre, past the other
        foot = r * r / seen
        square = (seen - foot) ** 2 + r * r - foot * foot
        return surds.said(surds.times(surds.root(square), abs(1 + other / r)))


def _tangent(away: Fraction, radius: Fraction) -> Gold | None:
    """From (away, 0) to the point of contact on a circle around the origin."""
    if away <= radius:
        return None
    x = radius * radius / away
    return surds.said(surds.root((away - x) ** 2 + radius * radius - x * x))
