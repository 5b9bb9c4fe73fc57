"""What kind of quadrilateral four points form."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_OPTIONS = {
    "A": "a square",
    "B": "a rectangle that is no square",
    "C": "a rhombus that is no square",
    "D": "a parallelogram that is neither a rectangle nor a rhombus",
    "E": "a kite that is no rhombus",
    "F": "a trapezoid with exactly one pair of parallel sides",
    "G": "none of these",
}
_LIST = " ".join(f"({label}) {text}" for label, text in _OPTIONS.items())


@attrs.frozen(kw_only=True)
class QuadrilateralType(Family):
    """Which kind of quadrilateral four points form: one of seven, by its letter."""

    name = "quadrilateral-type"
    tag = "geometry/quadrilaterals"
    wordings = Wordings(
        f"The points $<corners:text>$ are, in this order, the vertices of a quadrilateral. Which "
        f"kind is it? {_LIST}",
        f"Going around a quadrilateral $ABCD$, its vertices are $<corners:text>$. What is it? "
        f"{_LIST}",
    )

    size: Ends = dial(4, 12, "largest step along a side", least=3, most=1000)
    tilted: Ends = dial(0.2, 1, "share with sides in no direction of the axes", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        tilted = rng.random() < base.steady(self.tilted, difficulty)
        label = base.chosen(rng, tuple(_OPTIONS))
        # Along u and across v, which is u turned by a right angle.
        a = points.nonzero(rng, size)
        u = (a, points.nonzero(rng, size)) if tilted else (a, 0)
        v = (-u[1], u[0])
        k, m, n = (base.whole(rng, 1, 3) for _ in range(3))
        corners = {
            "A": ((0, 0), (1, 0), (1, 1), (0, 1)),
            "B": ((0, 0), (k + 1, 0), (k + 1, k), (0, k)),
            "C": ((0, 0), (k, m + k), (2 * k, 0), (k, -m - k)),
            "D": ((0, 0), (k + 1, 0), (k + 1 + m, 1), (m, 1)),
            "E": ((0, 0), (k, m), (k + m + n + 1, 0), (k, -m)),
            "F": ((0, 0), (m + k + n, 0), (m + k, n), (m, n)),
            "G": ((0, 0), (k + m, -1), (k + m + 2, n + 1), (0, n + 3)),
        }[label]
        x, y = points.somewhere(rng, size)
        found = [(x + p * u[0] + q * v[0], y + p * u[1] + q * v[1]) for p, q in corners]
        if rng.random() < 0.5:
            found.reverse()
        turn = int(rng.random() * 4)
        found = found[turn:] + found[:turn]
        label = _kind(found)
        sides = [
            (found[(place + 1) % 4][0] - each[0], found[(place + 1) % 4][1] - each[1])
            for place, each in enumerate(found)
        ]
        said = ", ".join(f"$({p}, {q})$" for p, q in sides)
        squares = ", ".join(f"${p * p + q * q}$" for p, q in sides)
        return Drawn(
            values={"corners": points.listed(found)},
            gold=gold.choice(label, _OPTIONS),
            steps=f"The sides, in order, are the vectors {said}, with squared lengths {squares}. "
            f"{_reason(label, sides)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the diagonals: whether they halve each other, are equal, are square to each other,
        # and whether one halves the other; parallel sides by triangles of equal area.
        corners = points.read(values["corners"])
        if len(corners) != 4:
            return None
        a, b, c, d = corners
        first, second = _step(a, c), _step(b, d)
        square = _dot(first, second) == 0
        halved = [p + q for p, q in zip(a, c, strict=True)] == [
            p + q for p, q in zip(b, d, strict=True)
        ]
        if halved:
            equal = _dot(first, first) == _dot(second, second)
            label = ("A" if square else "B") if equal else ("C" if square else "D")
            return gold.choice(label, _OPTIONS)
        if square and (_halves(first, a, b, d) or _halves(second, b, a, c)):
            return gold.choice("E", _OPTIONS)
        one = _area(a, b, c) == _area(a, b, d)
        other = _area(b, c, d) == _area(b, c, a)
        return gold.choice("F" if one != other else "G", _OPTIONS)


def _kind(corners: Sequence[points.Point]) -> str:
    """By the sides: which are parallel, which are equal, and whether they are square."""
    sides = [_step(corners[k], corners[(k + 1) % 4]) for k in range(4)]
    lengths = [_dot(side, side) for side in sides]
    parallel = [sides[k][0] * sides[k + 2][1] == sides[k][1] * sides[k + 2][0] for k in (0, 1)]
    square = _dot(sides[0], sides[1]) == 0
    if all(parallel):
        equal = lengths[0] == lengths[1]
        return ("A" if equal else "B") if square else ("C" if equal else "D")
    if any(lengths[k] == lengths[k - 1] and lengths[k - 2] == lengths[k - 3] for k in (0, 1)):
        return "E"
    return "F" if any(parallel) else "G"


def _reason(label: str, sides: Sequence[Sequence[int]]) -> str:
    first = _dot(sides[0], sides[1])
    if label in "ABCD":
        equal = "equal" if label in "AC" else "of different length"
        angle = "square to each other" if label in "AB" else "not square to each other"
        return (
            f"Opposite sides are parallel, and the first two sides are {equal} and {angle}: their "
            f"scalar product is ${first}$"
        )
    if label == "E":
        return "Two pairs of neighbouring sides are equal, and opposite sides are not parallel"
    if label == "F":
        return "Exactly one pair of opposite sides is parallel"
    return "No two sides are parallel, and no two pairs of neighbouring sides are equal"


def _step(p: Sequence[int], q: Sequence[int]) -> tuple[int, int]:
    return q[0] - p[0], q[1] - p[1]


def _dot(u: Sequence[int], v: Sequence[int]) -> int:
    return u[0] * v[0] + u[1] * v[1]


def _halves(axis: Sequence[int], on: Sequence[int], p: Sequence[int], q: Sequence[int]) -> bool:
    """Whether the line through ``on`` along ``axis`` passes through the middle of p and q."""
    middle = (p[0] + q[0] - 2 * on[0], p[1] + q[1] - 2 * on[1])
    return axis[0] * middle[1] == axis[1] * middle[0]


def _area(p: Sequence[int], q: Sequence[int], r: Sequence[int]) -> int:
    (a, b), (c, d) = _step(p, q), _step(p, r)
    return a * d - b * c
