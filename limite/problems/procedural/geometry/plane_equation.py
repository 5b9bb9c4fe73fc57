"""Planes in space: their equations, and where lines meet them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import lines, points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class PlaneEquation(Family):
    """The equation of a plane in space, or the point where a line meets a plane."""

    name = "plane-equation"
    tag = "geometry/space"
    wordings = Wordings(
        normal=(
            "Find an equation in $x$, $y$ and $z$ of the plane through $(<p:integers>)$ that is "
            "perpendicular to the vector $(<n:integers>)$.",
            "A plane contains the point $(<p:integers>)$ and has the normal vector "
            "$(<n:integers>)$. Give an equation of it in $x$, $y$ and $z$.",
        ),
        points=(
            "Find an equation in $x$, $y$ and $z$ of the plane through $(<p:integers>)$, "
            "$(<q:integers>)$ and $(<r:integers>)$.",
            "A plane contains the points $(<p:integers>)$, $(<q:integers>)$ and $(<r:integers>)$. "
            "Give an equation of it in $x$, $y$ and $z$.",
        ),
        meeting=(
            "At which point does the line through $(<p:integers>)$ and $(<q:integers>)$ meet the "
            "plane $<plane:text>$?",
            "A straight line passes through $(<p:integers>)$ and $(<q:integers>)$. Find the "
            "coordinates of its point on the plane $<plane:text>$.",
        ),
        middle=(
            "Which equation in $x$, $y$ and $z$ describes all points of space that are equally "
            "far from $(<p:integers>)$ and $(<q:integers>)$?",
            "Find an equation in $x$, $y$ and $z$ of the plane of symmetry of the points "
            "$(<p:integers>)$ and $(<q:integers>)$.",
        ),
    )

    size: Ends = dial(4, 7, "largest coordinate", least=2, most=1000)
    hard: Ends = dial(0, 0.9, "share that gives no normal vector", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        p = points.somewhere(rng, size, 3)
        n = tuple(points.nonzero(rng, size) for _ in range(3))
        if rng.random() >= base.steady(self.hard, difficulty):
            total = _dot(n, p)
            return Drawn(
                ask="normal",
                values={"p": p, "n": n},
                gold=lines.said((*n, total)),
                steps=f"The scalar product of $({_said(n)})$ and $(x, y, z)$ is the same for all "
                f"points of the plane, and at the given point it is ${total}$.",
            )
        kind = base.chosen(rng, ("points", "meeting", "middle"))
        step = tuple(points.nonzero(rng, size) for _ in range(3))
        q = tuple(u + v for u, v in zip(p, step, strict=True))
        if kind == "middle":
            q = tuple(u + 2 * v for u, v in zip(p, step, strict=True))
            centre = tuple(u + v for u, v in zip(p, step, strict=True))
            return Drawn(
                ask=kind,
                values={"p": p, "q": q},
                gold=lines.said((*step, _dot(step, centre))),
                steps=f"The plane passes through the midpoint $({_said(centre)})$ and is square to "
                f"the vector $({_said(step)})$, which is half of the one between the points. So "
                f"the scalar product with this vector is ${_dot(step, centre)}$ on all of it.",
            )
        if kind == "points":
            normal = _cross(n, step)
            if not any(normal):
                n = (n[0] + 1, n[1], n[2])
                normal = _cross(n, step)
            r = tuple(u + v for u, v in zip(p, n, strict=True))
            plane = lines.reduced((*normal, _dot(normal, p)))
            return Drawn(
                ask=kind,
                values={"p": p, "q": q, "r": r},
                gold=lines.said(plane),
                steps=f"From the first point to the others run the vectors $({_said(step)})$ and "
                f"$({_said(n)})$. A vector square to both, from their vector product, is "
                f"$({_said(plane[:3])})$. Its scalar product with the first point is ${plane[3]}$.",
            )
        # The line reaches the plane after a whole or half number of steps.
        if not _dot(n, step):
            n = (n[0], n[1], -n[2])
        if not _dot(n, step):
            n = (n[0], -n[1], n[2])
        share = Fraction(points.nonzero(rng, 5), base.chosen(rng, (1, 1, 2)))
        share += share in (0, 1)
        at = [u + share * v for u, v in zip(p, step, strict=True)]
        plane = lines.reduced((*n, sum(u * v for u, v in zip(n, at, strict=True))))
        start, slope = _dot(plane[:3], p), _dot(plane[:3], step)
        return Drawn(
            ask=kind,
            values={"p": p, "q": q, "plane": lines.latex(plane)},
            gold=gold.ordered(at),
            steps=f"The points of the line are $({_said(p)}) + t({_said(step)})$. The left side of "
            f"the equation of the plane is ${start} {_steps(slope)}$ there, which is "
            f"${plane[3]}$ for $t = {ratio_text(share)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By elimination in the equations that the coefficients, or the coordinates, satisfy.
        p = values["p"]
        if ask == "middle":  # |x - p|^2 = |x - q|^2, multiplied out
            q = values["q"]
            found = [2 * (v - u) for u, v in zip(p, q, strict=True)]
            total = sum(v * v - u * u for u, v in zip(p, q, strict=True))
            return lines.said((*found, total))
        if ask == "normal":
            a, b, c = values["n"]
            # A point (x, y, z) is on it if the difference to p has no part along the normal.
            return lines.said((a, b, c, a * p[0] + b * p[1] + c * p[2]))
        if ask == "points":
            rows = [(*point, -1) for point in (p, values["q"], values["r"])]
            left = _kernel(rows)
            return None if left is None else lines.said(left)
        q, (a, b, c, d) = values["q"], lines.read(values["plane"])
        # Weights at p and q in the inverse ratio of their signed distances from the plane.
        first = a * p[0] + b * p[1] + c * p[2] - d
        second = a * q[0] + b * q[1] + c * q[2] - d
        if first == second:
            return None
        return gold.ordered(
            [Fraction(first * v - second * u, first - second) for u, v in zip(p, q, strict=True)]
        )


def _said(vector: Sequence[int]) -> str:
    return ", ".join(map(str, vector))


def _steps(slope: int) -> str:
    """``- 3t``: how a value changes along a line."""
    return f"{'-' if slope < 0 else '+'} {base.term(abs(slope), 't', first=True)}"


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(u * v for u, v in zip(a, b, strict=True))


def _cross(a: Sequence[int], b: Sequence[int]) -> tuple[int, int, int]:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def _kernel(rows: Sequence[Sequence[int]]) -> list[Fraction] | None:
    """The one direction that three equations in four unknowns leave, by elimination."""
    left = [[Fraction(each) for each in row] for row in rows]
    pivots: list[int] = []
    for column in range(4):
        row = next((k for k in range(len(pivots), 3) if left[k][column]), None)
        if row is None:
            continue
        place = len(pivots)
        left[place], left[row] = left[row], left[place]
        lead = left[place][column]
        left[place] = [each / lead for each in left[place]]
        for other in range(3):
            if other != place and left[other][column]:
                factor = left[other][column]
                left[other] = [
                    u - factor * v for u, v in zip(left[other], left[place], strict=True)
                ]
        pivots.append(column)
        if len(pivots) == 3:
            break
    if len(pivots) < 3:
        return None
    free = next(column for column in range(4) if column not in pivots)
    found = [Fraction(0)] * 4
    found[free] = Fraction(1)
    for row, column in enumerate(pivots):
        found[column] = -left[row][free]
    return found if any(found[:3]) else None
