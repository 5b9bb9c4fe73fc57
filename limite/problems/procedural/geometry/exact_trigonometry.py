"""Exact values of sines, cosines and tangents."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points, surds
from limite.problems.procedural.geometry.surds import Surd
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_HALF, _QUARTER = Fraction(1, 2), Fraction(1, 4)
_SINES: dict[int, Surd] = {
    0: {},
    15: {6: _QUARTER, 2: -_QUARTER},
    30: {1: _HALF},
    45: {2: _HALF},
    60: {3: _HALF},
    75: {6: _QUARTER, 2: _QUARTER},
    90: {1: 1},
}
_TANGENTS: dict[int, Surd] = {
    0: {},
    15: {1: 2, 3: -1},
    30: {3: Fraction(1, 3)},
    45: {1: 1},
    60: {3: 1},
    75: {1: 2, 3: 1},
}
_TERM = re.compile(r"([-+]?)([0-9]*)((?:\\[a-z]+ [0-9]+\^\\circ(?: \\cdot )?)+)")
_VALUE = re.compile(r"\\(sin|cos|tan) ([0-9]+)\^\\circ")


@attrs.frozen(kw_only=True)
class ExactTrigonometry(Family):
    """The exact value of a sum of products of sines, cosines and tangents."""

    name = "exact-trigonometry"
    tag = "geometry/trigonometry"
    wordings = Wordings(
        "Find the exact value of $<terms:text>$.",
        "Without a calculator, compute $<terms:text>$ exactly.",
        "Simplify $<terms:text>$ to a number without trigonometric functions.",
    )

    terms: Ends = dial(1, 3, "how many terms", least=1, most=6)
    factors: Ends = dial(1, 1.8, "how many functions in a term", least=1, most=2)
    fine: Ends = dial(0, 0.5, "share of angles that are odd multiples of 15", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.terms, difficulty))
        total: Surd = {}
        text, said = "", list[str]()
        for place in range(count):
            product: Surd = {1: 1}
            parts: list[str] = []
            for _ in range(base.whole_near(rng, base.steady(self.factors, difficulty))):
                step = 15 if rng.random() < base.steady(self.fine, difficulty) else 0
                name = base.chosen(rng, ("sin", "cos", "tan"))
                angle = base.chosen(rng, _ANGLES) + step
                if name == "tan" and angle % 180 == 90:
                    angle += 45
                value = _known(name, angle)
                if not value:
                    name = "sin" if name == "cos" else "cos"
                    value = _known(name, angle)
                parts.append(f"\\{name} {angle}^\\circ")
                shown = f"${parts[-1]} = {surds.latex(value)}$"
                if shown not in said:
                    said.append(shown)
                product = surds.product(product, value)
            factor = points.nonzero(rng, 8)
            factor = factor if abs(factor) > 1 or place else 2
            total = surds.plus(total, surds.times(product, factor))
            sign = "-" if factor < 0 else ""
            sign = f" {sign or '+'} " if text else sign
            size = "" if abs(factor) == 1 else str(abs(factor))
            text += sign + size + " \\cdot ".join(parts)
        return Drawn(
            values={"terms": text},
            gold=surds.said(total),
            steps=f"Reduced to angles up to $90$ degrees, the values are {', '.join(said)}. Put "
            f"them in and collect equal roots.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From powers of cos 15 + i sin 15, and tan t = sin 2t / (1 + cos 2t).
        total: Surd = {}
        for part in re.sub(r" ([-+]) ", r"|\1", values["terms"]).split("|"):
            match = _TERM.fullmatch(part)
            if match is None:
                return None
            product: Surd = {1: int(f"{match[1]}{match[2] or 1}")}
            for name, angle in _VALUE.findall(match[3]):
                found = _measured(name, int(angle))
                if found is None:
                    return None
                product = surds.product(product, found)
            total = surds.plus(total, product)
        return surds.said(total)


_ANGLES = (30, 45, 60, 90, 120, 135, 150, 180, 210, 225, 240, 270, 300, 315, 330)


def _known(name: str, angle: int) -> Surd:
    """By reduction to an angle of at most 90 degrees and the table."""
    if name == "cos":
        angle += 90
    angle %= 360
    if name == "tan":
        angle %= 180
        return surds.times(_TANGENTS[180 - angle], -1) if angle > 90 else _TANGENTS[angle]
    sign = -1 if angle > 180 else 1
    angle %= 180
    return surds.times(_SINES[min(angle, 180 - angle)], sign)


@functools.cache
def _power(steps: int) -> tuple[Surd, Surd]:
    """Cosine and sine of so many steps of 15 degrees, by multiplying complex numbers."""
    if steps == 0:
        return {1: 1}, {}
    a, b = _power(steps - 1)
    c, d = _SINES[75], _SINES[15]
    return (
        surds.plus(surds.product(a, c), surds.times(surds.product(b, d), -1)),
        surds.plus(surds.product(a, d), surds.product(b, c)),
    )


def _measured(name: str, angle: int) -> Surd | None:
    if angle % 15:
        return None
    if name != "tan":
        return _power(angle // 15 % 24)[name == "sin"]
    cosine, sine = _power(angle // 15 * 2 % 24)
    below = surds.plus({1: 1}, cosine)
    p, q = Fraction(below.get(1, 0)), Fraction(below.get(3, 0))
    norm = p * p - 3 * q * q
    return surds.product(sine, {1: p / norm, 3: -q / norm}) if norm else None
