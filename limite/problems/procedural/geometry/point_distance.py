"""Distances between points in the plane and in space, and what is made of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points, surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PointDistance(Family):
    """The exact distance of two points, or of one from the midpoint of two others."""

    name = "point-distance"
    tag = "geometry/coordinates"
    wordings = Wordings(
        between=(
            "Find the exact distance between the points $(<a:integers>)$ and $(<b:integers>)$.",
            "How far is the point $A(<a:integers>)$ from the point $B(<b:integers>)$? Give the "
            "exact value.",
        ),
        median=(
            "A triangle has the vertices $A(<a:integers>)$, $B(<b:integers>)$ and "
            "$C(<c:integers>)$. Find the exact length of the median from $A$.",
            "How far is the point $A(<a:integers>)$ from the midpoint of the segment between "
            "$B(<b:integers>)$ and $C(<c:integers>)$? Give the exact value.",
        ),
        path=(
            "What is the exact total length of the path that goes straight from $(<a:integers>)$ "
            "to $(<b:integers>)$ and from there straight to $(<c:integers>)$?",
            "Points $A(<a:integers>)$, $B(<b:integers>)$ and $C(<c:integers>)$ are given. Find "
            "the exact value of $AB + BC$.",
        ),
    )

    size: Ends = dial(5, 20, "largest coordinate", least=3, most=1000)
    space: Ends = dial(0, 0.7, "share in space", least=0, most=1)
    three: Ends = dial(0, 0.8, "share with three points", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        dimension = 3 if rng.random() < base.steady(self.space, difficulty) else 2
        a = points.somewhere(rng, size, dimension)
        b = _other(rng, a, size)
        values: dict[str, Any] = {"a": a, "b": b}
        if rng.random() >= base.steady(self.three, difficulty):
            square, said = _square(a, b)
            return Drawn(
                ask="between",
                values=values,
                gold=surds.said(surds.root(square)),
                steps=f"The square of the distance is the sum of the squared differences of the "
                f"coordinates: {said}.",
            )
        c = _other(rng, b, size)
        if rng.random() < 0.5:
            c = tuple(
                end + 2 * ((end + other) % 2) - (end + other) % 2
                for end, other in zip(c, b, strict=True)
            )
            middle = tuple((end + other) // 2 for end, other in zip(b, c, strict=True))
            if middle != a and c != b:
                square, said = _square(a, middle)
                return Drawn(
                    ask="median",
                    values={**values, "c": c},
                    gold=surds.said(surds.root(square)),
                    steps=f"The midpoint of $BC$ is $({', '.join(map(str, middle))})$. The square "
                    f"of its distance from $A$ is {said}.",
                )
            c = _other(rng, b, size)
        first, said = _square(a, b)
        second, said_too = _square(b, c)
        lengths = surds.root(first), surds.root(second)
        return Drawn(
            ask="path",
            values={**values, "c": c},
            gold=surds.said(surds.plus(*lengths)),
            steps=f"The squares of the two lengths are {said} and {said_too}, so the lengths are "
            f"${surds.latex(lengths[0])}$ and ${surds.latex(lengths[1])}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From scalar products of position vectors: |a - b|^2 = aa - 2ab + bb, and the median by
        # Apollonius: 4m^2 = 2|AB|^2 + 2|AC|^2 - |BC|^2.
        a, b = values["a"], values["b"]
        if len(a) != len(b):
            return None
        if ask == "between":
            return surds.said(surds.root(_apart(a, b)))
        c = values["c"]
        if ask == "median":
            four = 2 * _apart(a, b) + 2 * _apart(a, c) - _apart(b, c)
            return surds.said(surds.times(surds.root(four), Fraction(1, 2)))
        return surds.said(surds.plus(surds.root(_apart(a, b)), surds.root(_apart(b, c))))


def _other(rng: random.Random, point: Sequence[int], size: int) -> tuple[int, ...]:
    """Another point: its first coordinate is never the same."""
    first = base.whole(rng, -size, size - 1)
    return (first + (first >= point[0]), *points.somewhere(rng, size, len(point) - 1))


def _square(a: Sequence[int], b: Sequence[int]) -> tuple[int, str]:
    steps = [end - begin for begin, end in zip(a, b, strict=True)]
    square = sum(step * step for step in steps)
    return square, f"${' + '.join(f'{points.factor(step)}^2' for step in steps)} = {square}$"


def _apart(a: Sequence[int], b: Sequence[int]) -> int:
    return _dot(a, a) - 2 * _dot(a, b) + _dot(b, b)


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(left * right for left, right in zip(a, b, strict=True))
