"""Equations of medians, altitudes and perpendicular bisectors."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import lines, points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_TRIANGLE = (
    "A triangle has the vertices $A(<a:integers>)$, $B(<b:integers>)$ and $C(<c:integers>)$. "
)


@attrs.frozen(kw_only=True)
class TriangleLines(Family):
    """The equation of a perpendicular bisector, a median or an altitude."""

    name = "triangle-lines"
    tag = "geometry/lines"
    wordings = Wordings(
        bisector=(
            "Find an equation in $x$ and $y$ of the perpendicular bisector of the segment from "
            "$(<a:integers>)$ to $(<b:integers>)$.",
            "Which equation in $x$ and $y$ describes all points of the plane that are equally "
            "far from $(<a:integers>)$ and $(<b:integers>)$?",
        ),
        median=(
            _TRIANGLE + "Find an equation in $x$ and $y$ of the line that contains the median "
            "from $A$.",
            "Give an equation in $x$ and $y$ of the line through $A(<a:integers>)$ and the "
            "midpoint of the segment from $B(<b:integers>)$ to $C(<c:integers>)$.",
        ),
        altitude=(
            _TRIANGLE + "Find an equation in $x$ and $y$ of the line that contains the altitude "
            "from $A$.",
            "Give an equation in $x$ and $y$ of the line through $A(<a:integers>)$ that is "
            "perpendicular to the line through $B(<b:integers>)$ and $C(<c:integers>)$.",
        ),
    )

    size: Ends = dial(4, 15, "largest coordinate", least=3, most=1000)
    three: Ends = dial(0.2, 0.75, "share with a whole triangle", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        a, b = points.somewhere(rng, size), points.somewhere(rng, size)
        if a == b:
            b = (b[0] + 1, b[1])
        if rng.random() >= base.steady(self.three, difficulty):
            middle = [Fraction(u + v, 2) for u, v in zip(a, b, strict=True)]
            step = (b[0] - a[0], b[1] - a[1])
            total = step[0] * middle[0] + step[1] * middle[1]
            return Drawn(
                ask="bisector",
                values={"a": a, "b": b},
                gold=lines.said((*step, total)),
                steps=f"The midpoint is $({ratio_text(middle[0])}, {ratio_text(middle[1])})$, and "
                f"the segment runs along $({step[0]}, {step[1]})$, which is square to the "
                f"bisector. So the scalar product of $({step[0]}, {step[1]})$ and $(x, y)$ is "
                f"constant on the bisector, and at the midpoint it is ${ratio_text(total)}$.",
            )
        c = points.somewhere(rng, size)
        while (b[0] - a[0]) * (c[1] - a[1]) == (b[1] - a[1]) * (c[0] - a[0]):
            c = (c[0], c[1] + 1) if b[0] != a[0] else (c[0] + 1, c[1])
        values = {"a": a, "b": b, "c": c}
        if rng.random() < 0.5:
            middle = [Fraction(u + v, 2) for u, v in zip(b, c, strict=True)]
            right, up = middle[0] - a[0], middle[1] - a[1]
            return Drawn(
                ask="median",
                values=values,
                gold=lines.said((up, -right, up * a[0] - right * a[1])),
                steps=f"The midpoint of $BC$ is $({ratio_text(middle[0])}, "
                f"{ratio_text(middle[1])})$. From $A$ to it, $x$ changes by ${ratio_text(right)}$ "
                f"and $y$ by ${ratio_text(up)}$, and the line through $A$ in this direction is "
                f"the one asked for.",
            )
        step = (c[0] - b[0], c[1] - b[1])
        at_a = step[0] * a[0] + step[1] * a[1]
        return Drawn(
            ask="altitude",
            values=values,
            gold=lines.said((*step, at_a)),
            steps=f"The altitude is square to $BC$, which runs along $({step[0]}, {step[1]})$. So "
            f"the scalar product of $({step[0]}, {step[1]})$ and $(x, y)$ is constant on it, and "
            f"at $A$ it is ${at_a}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Each is the set of points where two quadratic terms are equal: distances for the
        # bisector, differences of squared distances for the altitude, areas for the median.
        a, b = values["a"], values["b"]
        if ask == "bisector":
            return _equal(a, b, 0)
        c = values["c"]
        if ask == "altitude":  # PB^2 - PC^2 is the same as at A
            return _equal(b, c, _square(a, b) - _square(a, c))
        # The areas of ABP and APC are equal: each is linear in P.
        first, second = _area(a, b), _area(c, a)
        return lines.said([u - v for u, v in zip(first, second, strict=True)])


def _equal(p: Sequence[int], q: Sequence[int], more: int) -> Gold | None:
    """Where the squared distance from p is that from q and ``more``."""
    total = more - _square(p, (0, 0)) + _square(q, (0, 0))
    found = (2 * (q[0] - p[0]), 2 * (q[1] - p[1]), total)
    return lines.said(found) if found[:2] != (0, 0) else None


def _square(p: Sequence[int], q: Sequence[int]) -> int:
    return (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2


def _area(p: Sequence[int], q: Sequence[int]) -> tuple[int, int, int]:
    """Twice the signed area of p, q and (x, y), as coefficients of x, of y and minus the rest."""
    return (p[1] - q[1], q[0] - p[0], -(p[0] * q[1] - q[0] * p[1]))
