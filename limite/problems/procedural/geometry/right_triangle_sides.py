"""Sides of right triangles, alone and joined to each other."""

from __future__ import annotations

import bisect
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class RightTriangleSides(Family):
    """A side of a right triangle, or of the last of several that share sides."""

    name = "right-triangle-sides"
    tag = "geometry/right-triangles"
    wordings = Wordings(
        words={"thing": ("ladder", "plank", "pole", "beam")},
        hypotenuse=(
            "The legs of a right triangle have lengths $<a>$ and $<b>$. Find the exact length of "
            "the hypotenuse.",
            "A ship sails $<a>$ km north and then $<b>$ km east. Exactly how far is it from its "
            "starting point, in km?",
            "How long is the diagonal of a rectangle with sides $<a>$ and $<b>$? Give the exact "
            "value.",
        ),
        leg=(
            "The hypotenuse of a right triangle has length $<c>$ and one leg has length $<a>$. "
            "Find the exact length of the other leg.",
            "A <thing> of length $<c>$ m leans against a vertical wall. Its foot stands on level "
            "ground, $<a>$ m from the wall. Exactly how many metres up the wall does it reach?",
        ),
        altitude=(
            "The legs of a right triangle have lengths $<a>$ and $<b>$. Find the exact length of "
            "the altitude to the hypotenuse.",
            "In triangle $ABC$ the angle at $C$ is a right angle, $AC = <a>$ and $BC = <b>$. How "
            "far is $C$ from the line $AB$? Give the exact value.",
        ),
        isosceles=(
            "An isosceles triangle has two sides of length $<c>$ and a base of length $<a>$. Find "
            "its exact area.",
            "Two sides of a triangle have length $<c>$ and the third has length $<a>$. What is "
            "its exact area?",
        ),
        chain=(
            "A right triangle has legs of lengths $<a>$ and $<b>$. On its hypotenuse, as a leg, a "
            "second right triangle is built, whose other leg has length $<d>$. On the hypotenuse "
            "of that one a third is built in the same way, with other leg $<e>$. Find the exact "
            "length of the last hypotenuse.",
        ),
    )

    size: Ends = dial(12, 40, "largest length given", least=5, most=1000)
    steps: Ends = dial(0, 0.9, "share with more than one right triangle", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a, b = base.whole(rng, 2, size), base.whole(rng, 2, size)
        if rng.random() >= base.steady(self.steps, difficulty):
            if rng.random() < 0.5:
                found = surds.root(a * a + b * b)
                return Drawn(
                    ask="hypotenuse",
                    values={"a": a, "b": b},
                    gold=surds.said(found),
                    steps=f"The square of the hypotenuse is ${a}^2 + {b}^2 = {a * a} + {b * b} = "
                    f"{a * a + b * b}$.",
                )
            a, c = min(a, b), max(a, b) + 1
            return Drawn(
                ask="leg",
                values={"a": a, "c": c},
                gold=surds.said(surds.root(c * c - a * a)),
                steps=f"The square of the other leg is ${c}^2 - {a}^2 = {c * c} - {a * a} = "
                f"{c * c - a * a}$.",
            )
        ask = base.chosen(rng, ("altitude", "isosceles", "chain"))
        if ask == "altitude":
            long = surds.root(a * a + b * b)
            ((under, factor),) = long.items()
            height: surds.Surd = {under: Fraction(a * b) / (factor * under)}
            return Drawn(
                ask=ask,
                values={"a": a, "b": b},
                gold=surds.said(height),
                steps=f"The hypotenuse is $\\sqrt{{{a}^2 + {b}^2}} = {surds.latex(long)}$. Twice "
                f"the area is ${a} \\cdot {b} = {a * b}$, and also the hypotenuse times the "
                f"altitude, so the altitude is ${a * b}$ divided by ${surds.latex(long)}$.",
            )
        if ask == "isosceles":
            half, c = min(a, b), max(a, b) + 1
            height = surds.root(c * c - half * half)
            return Drawn(
                ask=ask,
                values={"a": 2 * half, "c": c},
                gold=surds.said(surds.times(height, half)),
                steps=f"The altitude to the base halves it, so its square is ${c}^2 - {half}^2 = "
                f"{c * c - half * half}$ and its length ${surds.latex(height)}$. The area is half "
                f"of the base, ${half}$, times the altitude.",
            )
        d, e = base.whole(rng, 2, size), base.whole(rng, 2, size)
        first, second = a * a + b * b, a * a + b * b + d * d
        return Drawn(
            ask=ask,
            values={"a": a, "b": b, "d": d, "e": e},
            gold=surds.said(surds.root(second + e * e)),
            steps=f"The squares of the hypotenuses are ${a}^2 + {b}^2 = {first}$, then ${first} + "
            f"{d}^2 = {second}$, then ${second} + {e}^2 = {second + e * e}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By areas alone: of all triangles with two given sides the right one is the largest.
        if ask == "isosceles":
            squared = _area(values["c"] ** 2, values["c"] ** 2, values["a"] ** 2)
            return surds.said(surds.root(Fraction(squared, 16))) if squared > 0 else None
        square = values["a"] ** 2
        if ask == "leg":
            whole = values["c"] ** 2
            other = bisect.bisect_left(range(whole), whole, key=lambda each: _third(square, each))
            return surds.said(surds.root(other)) if 0 < other < whole else None
        for name in ("b", "d", "e"):
            if name in values:
                before, square = square, _third(square, values[name] ** 2)
        if ask == "altitude":
            squared = _area(before, values["b"] ** 2, square)
            return surds.said(surds.root(Fraction(squared, 4 * square)))
        return surds.said(surds.root(square))


def _area(first: int, second: int, third: int) -> int:
    """Heron's formula: 16 times the squared area, from the squares of the sides."""
    return (
        2 * (first * second + second * third + third * first)
        - first * first
        - second * second
        - third * third
    )


def _third(first: int, second: int) -> int:
    """The square of the third side with which the area is largest."""
    return bisect.bisect_left(
        range(4 * (first + second)),
        0,
        key=lambda each: _area(first, second, each) - _area(first, second, each + 1),
    )
