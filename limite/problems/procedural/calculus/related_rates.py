"""Quantities that change together: ladders, balloons, shadows, tanks and ships."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_TRIPLES = ((3, 4, 5), (4, 3, 5), (5, 12, 13), (12, 5, 13), (8, 15, 17), (15, 8, 17), (7, 24, 25))


@attrs.frozen(kw_only=True)
class RelatedRates(Family):
    """How fast one quantity changes when another is known to change."""

    name = "related-rates"
    tag = "calculus/related-rates"
    wordings = Wordings(
        square=(
            "The side of a square grows at $<v>$ cm per second. How fast, in square centimetres "
            "per second, does its area grow when the side is $<x>$ cm long?",
            "Each side of a square lengthens by $<v>$ cm per second. Find the rate of growth of "
            "its area, in square centimetres per second, at a side of $<x>$ cm.",
        ),
        circle=(
            "An oil spill is a circle whose radius grows at $<v>$ m per minute. Exactly how fast "
            "does its area grow, in square metres per minute, when the radius is $<x>$ m?",
            "A circular wave spreads so that its radius grows at $<v>$ m per minute. Find the "
            "exact rate, in square metres per minute, at which the circle grows at a radius of "
            "$<x>$ m.",
        ),
        ladder=(
            "A ladder of length $<c>$ m leans against a vertical wall. Its foot is pulled away "
            "from the wall at $<v>$ m per second. How fast, in metres per second, does its top "
            "slide down when the foot is $<x>$ m from the wall?",
            "The foot of a $<c>$ m long ladder slides away from a vertical wall at $<v>$ m per "
            "second. Find the speed of its top down the wall, in metres per second, when the foot "
            "is $<x>$ m from the wall.",
        ),
        ships=(
            "A cyclist rides north from a crossing at $<v>$ m per second. Another, who set out at "
            "another time, rides east from it at $<w>$ m per second. How fast, in metres per "
            "second, does the distance between them grow when the first is $<x>$ m and the second "
            "$<y>$ m from the crossing?",
            "A ship is $<x>$ km north of a lighthouse and sails north at $<v>$ km per hour. "
            "Another is $<y>$ km east of it and sails east at $<w>$ km per hour. At what rate, in "
            "km per hour, does the distance between the ships grow at this moment?",
        ),
        balloon=(
            "Air is pumped into a spherical balloon at $<v>$ cubic centimetres per second. "
            "Exactly how fast does its radius grow, in centimetres per second, when it is $<x>$ "
            "cm?",
            "A snowball is a sphere that gains $<v>$ cubic centimetres of snow per second. Find "
            "the exact rate, in centimetres per second, at which its radius grows when the radius "
            "is $<x>$ cm.",
        ),
        cone=(
            "Water runs at $<v>$ cubic metres per minute into a tank that is a cone with its tip "
            "down, $<h>$ m deep and with a radius of $<r>$ m at the top. Exactly how fast does "
            "the water rise, in metres per minute, when it is $<x>$ m deep?",
            "A conical funnel, tip down, has depth $<h>$ m and top radius $<r>$ m. It is filled "
            "at $<v>$ cubic metres per minute. Find the exact speed at which the surface rises, "
            "in metres per minute, at a water depth of $<x>$ m.",
        ),
        shadow=(
            "A lamp hangs $<h>$ m above level ground. Someone $<r>$ cm tall walks straight away "
            "from the point below it at $<v>$ cm per second. How fast does the shadow get longer, "
            "in centimetres per second?",
            "A person of height $<r>$ cm walks away from a street lamp that is $<h>$ m high, at "
            "$<v>$ cm per second on level ground. At what rate, in centimetres per second, does "
            "the shadow of the person lengthen?",
        ),
    )

    size: Ends = dial(24, 48, "largest length", least=5, most=1000)
    hard: Ends = dial(0, 0.9, "share with more than a square or a circle", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        v, x = base.whole(rng, 2, 9), base.whole(rng, 2, size)
        if rng.random() >= base.steady(self.hard, difficulty):
            kind = base.chosen(rng, ("square", "circle"))
            rate = 2 * x * v
            values = {"v": v, "x": x}
            if kind == "square":
                return Drawn(
                    ask=kind,
                    values=values,
                    gold=gold.rational(rate),
                    steps=f"The area is $A = s^2$, so $A' = 2s \\cdot s'$, here $2 \\cdot {x} "
                    f"\\cdot {v}$.",
                )
            return Drawn(
                ask=kind,
                values=values,
                gold=surds.said({surds.PI: rate}),
                steps=f"The area is $A = \\pi r^2$, so $A' = 2\\pi r \\cdot r' = 2\\pi \\cdot {x} "
                f"\\cdot {v}$.",
            )
        kind = base.chosen(rng, ("ladder", "ships", "balloon", "cone", "shadow"))
        a, b, c = base.chosen(rng, _TRIPLES)
        k = base.whole(rng, 1, max(1, size / 12))
        a, b, c = k * a, k * b, k * c
        if kind == "ladder":
            return Drawn(
                ask=kind,
                values={"c": c, "v": v, "x": a},
                gold=gold.rational(Fraction(a * v, b)),
                steps=f"With the foot at $x$ and the top at height $y$, $x^2 + y^2 = {c}^2$, so "
                f"$xx' + yy' = 0$. At $x = {a}$ the height is $y = {b}$, so the top moves down at "
                f"$\\frac{{{a} \\cdot {v}}}{{{b}}}$.",
            )
        if kind == "ships":
            w = base.whole(rng, 2, 9)
            return Drawn(
                ask=kind,
                values={"v": v, "w": w, "x": a, "y": b},
                gold=gold.rational(Fraction(a * v + b * w, c)),
                steps=f"For the distance $d$, $d^2 = x^2 + y^2$, so $dd' = xx' + yy'$. Here $d = "
                f"{c}$, so $d' = \\frac{{{a} \\cdot {v} + {b} \\cdot {w}}}{{{c}}}$.",
            )
        if kind == "balloon":
            return Drawn(
                ask=kind,
                values={"v": v, "x": x},
                gold=_over_pi(Fraction(v, 4 * x * x)),
                steps=f"From $V = \\frac{{4}}{{3}}\\pi r^3$ follows $V' = 4\\pi r^2 r'$. With "
                f"$r = {x}$ this is ${v} = {4 * x * x}\\pi r'$.",
            )
        if kind == "cone":
            r, h = base.whole(rng, 2, 9), base.whole(rng, 3, size)
            x = base.whole(rng, 1, h - 1)
            factor = Fraction(r * x, h)
            return Drawn(
                ask=kind,
                values={"v": v, "h": h, "r": r, "x": x},
                gold=_over_pi(v / (factor * factor)),
                steps=f"At depth ${x}$ the surface is a circle of radius ${x} \\cdot "
                f"\\frac{{{r}}}{{{h}}} = {ratio_text(factor)}$, with area "
                f"${ratio_text(factor * factor)}\\pi$. The volume grows at this area times the "
                f"speed of the surface, so ${v} = {ratio_text(factor * factor)}\\pi x'$.",
            )
        h, r, v = base.whole(rng, 4, 9), 5 * base.whole(rng, 24, 38), 10 * v
        return Drawn(
            ask=kind,
            values={"h": h, "r": r, "v": v},
            gold=gold.rational(Fraction(r * v, 100 * h - r)),
            steps=f"With distance $x$ from the lamp and shadow $s$, similar triangles give "
            f"$\\frac{{s}}{{{r}}} = \\frac{{x + s}}{{{100 * h}}}$, all in centimetres. So "
            f"${100 * h - r}s = {r}x$, and $s' = \\frac{{{r}}}{{{100 * h - r}}} \\cdot {v}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By numbers a + bh in place of the quantities, with h^2 left out: what h carries, after
        # the short time h, is the rate. Roots and quotients are solved for term by term.
        v = values["v"]
        if ask == "shadow":  # where the ray from the lamp over the head meets the ground
            lamp = 100 * values["h"]
            slope = Fraction(lamp - values["r"], 1)  # falls this much for each unit of distance
            return gold.rational(lamp / slope * v - v)
        x = values["x"]
        if ask in ("square", "circle"):
            rate = _times((x, v), (x, v))[1]
            return gold.rational(rate) if ask == "square" else surds.said({surds.PI: rate})
        if ask == "ladder":
            rest = _times((x, v), (x, v))
            top = _root((values["c"] ** 2 - rest[0], -rest[1]))
            return None if top is None else gold.rational(-top[1])
        if ask == "ships":
            north, east = (x, v), (values["y"], values["w"])
            first, second = _times(north, north), _times(east, east)
            away = _root((first[0] + second[0], first[1] + second[1]))
            return None if away is None else gold.rational(away[1])
        if ask == "balloon":
            cube = _times((x, 1), _times((x, 1), (x, 1)))
            return _over_pi(v / (Fraction(4, 3) * cube[1]))
        cone = Fraction(values["r"] ** 2, 3 * values["h"] ** 2)
        cube = _times((x, 1), _times((x, 1), (x, 1)))
        return _over_pi(v / (cone * cube[1]))


def _times(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    return left[0] * right[0], left[0] * right[1] + left[1] * right[0]


def _root(square: tuple[int, int]) -> tuple[int, Fraction] | None:
    """a + bh whose square is this; None where a is not whole."""
    whole = math.isqrt(max(square[0], 0))
    if not whole or whole * whole != square[0]:
        return None
    return whole, Fraction(square[1], 2 * whole)


def _over_pi(factor: Fraction) -> Gold:
    below = "" if factor.denominator == 1 else factor.denominator
    return gold.expression(f"{factor}/pi", f"\\frac{{{factor.numerator}}}{{{below}\\pi}}")
