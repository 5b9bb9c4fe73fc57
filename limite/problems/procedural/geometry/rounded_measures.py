"""Lengths and areas to two decimals: heights from angles, circles and diagonals."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_PI = Fraction(314159265358979323846264338327950288419716939937510, 10**50)
_ROUNDED = " Round to two decimals."


@attrs.frozen(kw_only=True)
class RoundedMeasures(Family):
    """A length or an area to two decimals, from angles of elevation, circles or diagonals."""

    name = "rounded-measures"
    tag = "geometry/measurement"
    wordings = Wordings(
        words={"thing": ("tower", "tree", "chimney", "mast", "cliff")},
        circumference=(
            "A wheel has a diameter of $<d>$ cm. How far, in centimetres, does it roll in one "
            "turn?" + _ROUNDED,
            "Find the circumference of a circle with diameter $<d>$." + _ROUNDED,
        ),
        diagonal=(
            "A screen is $<a>$ cm wide and $<b>$ cm high. How long is its diagonal, in "
            "centimetres?" + _ROUNDED,
            "Find the length of the diagonal of a rectangle with sides $<a>$ and $<b>$." + _ROUNDED,
        ),
        height=(
            "From a point on level ground, $<d>$ m from the foot of a <thing>, its top is seen at "
            "an angle of elevation of $<w>$ degrees. How high is the <thing>, in metres?"
            + _ROUNDED,
            "At a distance of $<d>$ m, on level ground, the top of a <thing> appears $<w>$ "
            "degrees above the horizontal through its foot. Find the height of the <thing> in "
            "metres." + _ROUNDED,
        ),
        rope=(
            "A rope of length $<d>$ m is stretched straight from the ground and forms an angle of "
            "$<w>$ degrees with it. How high, in metres, is its upper end above the ground?"
            + _ROUNDED,
            "A kite flies on a straight string of $<d>$ m at an angle of $<w>$ degrees above the "
            "horizontal. How much higher than the hand that holds the string is it, in metres?"
            + _ROUNDED,
        ),
        distance=(
            "Two ships leave a harbour on straight courses that form an angle of $<w>$ degrees. "
            "How far apart are they, in km, when one has sailed $<a>$ km and the other $<b>$ km?"
            + _ROUNDED,
            "Two sides of a triangle measure $<a>$ and $<b>$ and enclose an angle of $<w>$ "
            "degrees. Find the length of the third side." + _ROUNDED,
        ),
    )

    size: Ends = dial(30, 90, "largest length given", least=10, most=900)
    angles: Ends = dial(0, 0.9, "share with an angle", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a, b, d = (base.whole(rng, 3, size) for _ in range(3))
        w = base.chosen(rng, _ANGLES)
        if rng.random() >= base.steady(self.angles, difficulty):
            if rng.random() < 0.5:
                return Drawn(
                    ask="circumference",
                    values={"d": d},
                    gold=gold.decimal(_rounded(d * _PI), decimals=2),
                    steps=f"It is $\\pi \\cdot {d}$, with $\\pi = 3.14159\\ldots$.",
                )
            return Drawn(
                ask="diagonal",
                values={"a": a, "b": b},
                gold=gold.decimal(_rounded(_root(Fraction(a * a + b * b))), decimals=2),
                steps=f"By Pythagoras its square is ${a}^2 + {b}^2 = {a * a + b * b}$, so the "
                f"diagonal is $\\sqrt{{{a * a + b * b}}}$.",
            )
        kind = base.chosen(rng, ("height", "rope", "distance"))
        sine, cosine = _circular(w)
        if kind == "distance":
            square = a * a + b * b - 2 * a * b * cosine
            return Drawn(
                ask=kind,
                values={"a": a, "b": b, "w": w},
                gold=gold.decimal(_rounded(_root(square)), decimals=2),
                steps=f"By the law of cosines its square is ${a}^2 + {b}^2 - 2 \\cdot {a} \\cdot "
                f"{b} \\cdot \\cos {w}^\\circ$. With $\\cos {w}^\\circ = "
                f"{_digits(cosine, 6)}\\ldots$ this is ${_digits(square, 4)}\\ldots$, and the root "
                f"of that is the length.",
            )
        value = sine / cosine if kind == "height" else sine
        function = "tan" if kind == "height" else "sin"
        what = "over the distance" if kind == "height" else "over the length"
        return Drawn(
            ask=kind,
            values={"d": d, "w": w},
            gold=gold.decimal(_rounded(d * value), decimals=2),
            steps=f"The height {what} is $\\{function} {w}^\\circ = {_digits(value, 6)}\\ldots$, "
            f"so the height is this times ${d}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # In doubles, from other relations; None where rounding could go either way.
        if ask == "circumference":
            found = values["d"] * 4 * math.atan(1.0)
        elif ask == "diagonal":
            found = abs(complex(values["a"], values["b"]))
        else:
            w = math.radians(values["w"])
            if ask == "distance":  # by the parts of one side along and across the other
                a, b = values["a"], values["b"]
                found = math.hypot(a - b * math.cos(w), b * math.sin(w))
            elif ask == "height":  # the other angle of the triangle sees the distance
                found = values["d"] / math.tan(math.pi / 2 - w)
            else:
                found = values["d"] * math.cos(math.pi / 2 - w)
        cents = round(found * 100)
        if abs(abs(found * 100 - cents) - 0.5) < 1e-6:
            return None
        return gold.decimal(f"{cents // 100}.{cents % 100:02d}", decimals=2)


_ANGLES = [each for each in range(11, 80) if each not in (30, 45, 60)]
"""Degrees of which no sine, cosine or tangent is a short decimal."""


def _circular(degrees: int) -> tuple[Fraction, Fraction]:
    """Sine and cosine to forty digits, by their series."""
    unit = 10**45
    x = int(_PI * degrees * unit / 180)
    term, sine, cosine, count = unit, 0, 0, 0
    while term:
        if count % 2:
            sine += term if count % 4 == 1 else -term
        else:
            cosine += term if count % 4 == 0 else -term
        count += 1
        term = term * x // (unit * count)
    return Fraction(sine, unit), Fraction(cosine, unit)


def _root(square: Fraction) -> Fraction:
    unit = 10**20
    return Fraction(math.isqrt(int(square * unit * unit)), unit)


def _rounded(value: Fraction) -> str:
    """To two decimals; none of the values here lies halfway."""
    cents = int(value * 100 + Fraction(1, 2))
    return f"{cents // 100}.{cents % 100:02d}"


def _digits(value: Fraction, places: int) -> str:
    """The first decimals, cut off."""
    whole = int(value * 10**places)
    return f"{whole // 10**places}.{whole % 10**places:0{places}d}"
