"""Points chosen at random from segments and areas."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.core.types import Answer
from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_ARRIVE = "at a time chosen at random, evenly, within the same $<total>$ minutes"
_PAIR = (
    "A real number $x$ is chosen at random, evenly, between $0$ and $<width>$, and "
    "independently a real number $y$ between $0$ and $<height>$."
)
Point = tuple[Fraction, Fraction]


@attrs.frozen(kw_only=True)
class GeometricProbability(Family):
    """The probability that points chosen at random from a segment or an area are well placed."""

    name = "geometric-probability"
    tag = "probability/geometric"
    wordings = Wordings(
        words={"one": ("Ana", "Ines", "Mara", "Noor"), "other": ("Luc", "Tom", "Emil", "Ravi")},
        meeting=(
            f"<one> and <other> each arrive at a café {_ARRIVE}, independently. <one> waits up to "
            "$<wait>$ minutes for <other>, and <other> up to $<patience>$ minutes for <one> (both "
            "stay past the end if need be). What is the probability that they meet?",
        ),
        sum=(
            f"{_PAIR} What is the probability that $x + y$ is less than $<bound>$?",
            f"{_PAIR} How probable is $x + y < <bound>$?",
        ),
        less=(f"{_PAIR} What is the probability that $y$ is less than $<factor>x$?",),
        ring=(
            "A dart hits a round board of radius $<outer>$ cm at a random point, evenly over its "
            "area. What is the probability that the point is at least $<inner>$ cm but at most "
            "$<middle>$ cm from the centre?",
        ),
        coin=(
            "A floor is covered with square tiles of side $<side>$ cm. A coin of diameter "
            "$<across>$ cm falls on it at a random place, evenly. What is the probability that it "
            "lies inside a single tile, without crossing an edge?",
        ),
        disc=(
            "A point is chosen at random, evenly, in a rectangle with the sides $<width>$ cm and "
            "$<height>$ cm. What is the probability that it lies in a given disc of radius "
            "$<radius>$ cm inside the rectangle? Give an exact answer.",
        ),
        segment=(
            "On a rope of length $<total>$ m, a place for a cut is chosen at random, evenly. What "
            "is the probability that the shorter piece is at least $<least>$ m long?",
        ),
    )

    size: Ends = dial(8, 40, "largest length", least=8, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.size, difficulty)
        ask = base.rising(
            rng, ("segment", "coin", "ring", "disc", "sum", "less", "meeting"), difficulty
        )
        width, height = base.whole(rng, 3, most), base.whole(rng, 3, most)
        if ask == "segment":
            total = base.whole(rng, 4, most + 10)
            least = base.whole(rng, 1, (total - 1) // 2)
            return Drawn(
                ask=ask,
                values={"total": total, "least": least},
                gold=gold.rational(Fraction(total - 2 * least, total)),
                steps=f"The cut must be at least ${least}$ m from both ends, which leaves "
                f"${total} - 2 \\cdot {least} = {total - 2 * least}$ m of ${total}$ m.",
            )
        if ask == "coin":
            side = base.whole(rng, 4, most)
            across = base.whole(rng, 1, side - 1)
            free = side - across
            return Drawn(
                ask=ask,
                values={"side": side, "across": across},
                gold=gold.rational(Fraction(free * free, side * side)),
                steps=f"The centre of the coin must be at least half its diameter from all edges: "
                f"in a square of side ${side} - {across} = {free}$ cm inside the tile. The areas "
                f"are ${free * free}$ and ${side * side}$ square centimetres.",
            )
        if ask == "ring":
            outer = base.whole(rng, 4, most)
            inner, middle = sorted(base.distinct(rng, 2, 1, outer - 1))
            ring = middle**2 - inner**2
            return Drawn(
                ask=ask,
                values={"outer": outer, "middle": middle, "inner": inner},
                gold=gold.rational(Fraction(ring, outer**2)),
                steps=f"The ring has the area $\\pi ({middle}^2 - {inner}^2) = {ring} \\pi$, the "
                f"board $\\pi \\cdot {outer}^2 = {outer**2} \\pi$.",
            )
        if ask == "disc":
            radius = base.whole(rng, 1, min(width, height) // 2)
            return Drawn(
                ask=ask,
                values={"width": width, "height": height, "radius": radius},
                gold=_of_pi(Fraction(radius**2, width * height)),
                steps=f"The disc has the area $\\pi \\cdot {radius}^2 = "
                f"{'' if radius == 1 else radius**2}\\pi$, the rectangle ${width} \\cdot {height} "
                "= "
                f"{width * height}$.",
            )
        if ask == "meeting":
            return _meeting(rng, most)
        area = 2 * width * height
        if ask == "less":
            factor = base.whole(rng, 2, 4)
            values = {"width": width, "height": height, "factor": factor}
            if factor * width <= height:
                good = width * factor * width
                how = (
                    f"The wanted pairs form a triangle under the line $y = {factor}x$ with the "
                    "legs "
                    f"${width}$ and ${factor * width}$"
                )
                found = Fraction(good, area)
            else:
                # What is missing is the triangle on the left of the line.
                found = 1 - Fraction(height * height, factor * area)
                how = (
                    f"The pairs that are not wanted form a triangle left of the line "
                    f"$y = {factor}x$ with the legs ${height}$ and "
                    f"${ratio_text(Fraction(height, factor))}$"
                )
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(found),
                steps=f"{how}, in the rectangle of area ${width} \\cdot {height} = "
                f"{width * height}$ of all pairs.",
            )
        bound = base.whole(rng, 1, width + height - 1)
        whole = bound * bound
        steps = (
            f"The pairs fill a rectangle of area ${width} \\cdot {height} = {width * height}$. "
            f"Below the line $x + y = {bound}$ lies a triangle of area "
            f"$\\frac{{{bound}^2}}{{2}}$"
        )
        for side in (width, height):
            if bound > side:
                whole -= (bound - side) ** 2
                steps += f", less the part of it beyond ${side}$, of area "
                steps += f"$\\frac{{{bound - side}^2}}{{2}}$"
        return Drawn(
            ask=ask,
            values={"width": width, "height": height, "bound": bound},
            gold=gold.rational(Fraction(whole, area)),
            steps=f"{steps}: together ${ratio_text(Fraction(whole, 2))}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "segment":  # the cut in units, from both sides
            total, least = values["total"], values["least"]
            free = total - 2 * least
            return gold.rational(Fraction(free, total) if free > 0 else 0)
        if ask == "coin":  # one direction after the other
            one_way = 1 - Fraction(values["across"], values["side"])
            return gold.rational(one_way * one_way if one_way > 0 else 0)
        if ask == "ring":  # rings of width 1 around the centre, as areas of pi (2k + 1)
            outer, middle, inner = values["outer"], values["middle"], values["inner"]
            if not inner <= middle <= outer:
                return None
            ring = sum(2 * each + 1 for each in range(inner, middle))
            return gold.rational(Fraction(ring, sum(2 * each + 1 for each in range(outer))))
        if ask == "disc":  # by the square around the disc, of which it is pi / 4
            across = 2 * values["radius"]
            square = Fraction(across, values["width"]) * Fraction(across, values["height"])
            return _of_pi(square / 4)
        # A rectangle cut by half planes a x + b y <= c, and the area of what is left.
        if ask == "meeting":
            width = height = values["total"]
            # x for the first, y for the second: y - x <= wait and x - y <= patience.
            cuts = [(-1, 1, values["wait"]), (1, -1, values["patience"])]
        else:
            width, height = values["width"], values["height"]
            cuts = [(1, 1, values["bound"])] if ask == "sum" else [(-values["factor"], 1, 0)]
        zero, w, h = Fraction(0), Fraction(width), Fraction(height)
        polygon: list[Point] = [(zero, zero), (w, zero), (w, h), (zero, h)]
        for a, b, c in cuts:
            polygon = _cut(polygon, a, b, c)
        return gold.rational(_area(polygon) / (width * height))


def _meeting(rng: random.Random, most: float) -> Drawn:
    total = 5 * base.whole(rng, 4, 12 + most / 10)
    wait, patience = 5 * base.whole(rng, 1, total // 5 - 1), 5 * base.whole(rng, 1, total // 5 - 1)
    if rng.random() < 0.5:
        patience = wait
    one, other = total - wait, total - patience
    missed = Fraction(one * one + other * other, 2)
    return Drawn(
        ask="meeting",
        values={"total": total, "wait": wait, "patience": patience},
        gold=gold.rational(1 - missed / (total * total)),
        steps=f"Take the two times as a point in a square of side ${total}$. They miss each other "
        f"if the second comes more than ${wait}$ minutes after the first, a right triangle with "
        f"legs ${one}$, or the first more than ${patience}$ minutes after the second, one with "
        f"legs ${other}$. Together these have the area $\\frac{{{one}^2 + {other}^2}}{{2}} = "
        f"{ratio_text(missed)}$ of ${total * total}$, which leaves "
        f"$1 - {ratio_text(missed / (total * total))}$.",
    )


def _of_pi(factor: Fraction) -> Gold:
    top, bottom = factor.numerator, factor.denominator
    size = "\\pi" if top == 1 else f"{top}\\pi"
    return Gold(
        Answer(type="expression", value="pi" if factor == 1 else f"{factor}*pi"),
        size if bottom == 1 else f"\\frac{{{size}}}{{{bottom}}}",
    )


def _cut(polygon: Sequence[Point], a: int, b: int, c: int) -> list[Point]:
    """The part of a convex polygon where ``a x + b y <= c``."""
    kept: list[Point] = []
    for place, (x, y) in enumerate(polygon):
        left, top = polygon[place - 1]
        before, here = a * left + b * top - c, a * x + b * y - c
        if before * here < 0:
            part = before / (before - here)
            kept.append((left + part * (x - left), top + part * (y - top)))
        if here <= 0:
            kept.append((x, y))
    return kept


def _area(polygon: Sequence[Point]) -> Fraction:
    double = sum(
        (
            polygon[place - 1][0] * y - x * polygon[place - 1][1]
            for place, (x, y) in enumerate(polygon)
        ),
        Fraction(0),
    )
    return abs(double) / 2
