"""Distances of points from lines and planes, and between parallels."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import lines, points, surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PointLineDistance(Family):
    """The exact distance of a point from a line or a plane, or of two parallel ones."""

    name = "point-line-distance"
    tag = "geometry/lines"
    wordings = Wordings(
        line=(
            "Find the exact distance of the point $(<p:integers>)$ from the line $<line:text>$.",
            "How far is the point $(<p:integers>)$ from the line $<line:text>$? Give the exact "
            "value.",
        ),
        parallel=(
            "Find the exact distance between the parallel lines $<line:text>$ and $<other:text>$.",
            "How far apart are the lines $<line:text>$ and $<other:text>$? Give the exact value.",
        ),
        through=(
            "Find the exact distance of the point $(<p:integers>)$ from the line through "
            "$(<q:integers>)$ and $(<r:integers>)$.",
            "A line passes through $(<q:integers>)$ and $(<r:integers>)$. Exactly how far from it "
            "is the point $(<p:integers>)$?",
        ),
        plane=(
            "Find the exact distance of the point $(<p:integers>)$ from the plane $<line:text>$.",
            "How far is the point $(<p:integers>)$ from the plane $<line:text>$? Give the exact "
            "value.",
        ),
    )

    size: Ends = dial(4, 12, "largest coordinate", least=3, most=1000)
    space: Ends = dial(0, 0.8, "share with parallels, two points or a plane", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        hard = rng.random() < base.steady(self.space, difficulty)
        kind = base.chosen(rng, ("parallel", "through", "plane")) if hard else "line"
        if kind == "through":
            p, q, r = points.triangle(rng, size)
            a, b = r[1] - q[1], q[0] - r[0]
            away = abs(a * (p[0] - q[0]) + b * (p[1] - q[1]))
            length = surds.root(a * a + b * b)
            return Drawn(
                ask=kind,
                values={"p": p, "q": q, "r": r},
                gold=surds.said(_divided(away, a * a + b * b)),
                steps=f"The triangle of the three points has twice the area ${away}$, from the "
                f"determinant of two of its sides. The side on the line has the length "
                f"${surds.latex(length)}$. The distance is ${away}$ divided by it.",
            )
        dimension = 3 if kind == "plane" else 2
        normal = [points.nonzero(rng, min(size, 9)) for _ in range(dimension)]
        line = lines.reduced((*normal, base.whole(rng, -2 * size, 2 * size)))
        normal = list(line[:-1])
        square = sum(each * each for each in normal)
        if kind == "parallel":
            moved = line[-1] + points.nonzero(rng, 3 * size)
            away = abs(moved - line[-1])
            return Drawn(
                ask=kind,
                values={"line": lines.latex(line), "other": lines.latex((*normal, moved))},
                gold=surds.said(_divided(away, square)),
                steps=f"The left sides are equal and the right sides differ by ${away}$. A step of "
                f"length $1$ square to the lines changes the left side by "
                f"$\\sqrt{{{square}}}$, so the distance is ${away}$ divided by that.",
            )
        p = points.somewhere(rng, size, dimension)
        at = sum(u * v for u, v in zip(normal, p, strict=True))
        if at == line[-1]:
            p = (p[0] + 1, *p[1:])
            at += normal[0]
        away = abs(at - line[-1])
        return Drawn(
            ask=kind,
            values={"p": p, "line": lines.latex(line)},
            gold=surds.said(_divided(away, square)),
            steps=f"At the point the left side of the equation is ${at}$, which differs from "
            f"${line[-1]}$ by ${away}$. Divide by $\\sqrt{{{_squares(normal)}}} = "
            f"{surds.latex(surds.root(square))}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the foot of the point: it moves along the normal until the equation holds.
        if ask == "through":
            p, q, r = values["p"], values["q"], values["r"]
            along = [v - u for u, v in zip(q, r, strict=True)]
            whole = _dot(along, along)
            if not whole:
                return None
            share = Fraction(_dot(along, [v - u for u, v in zip(q, p, strict=True)]), whole)
            foot = [u + share * step for u, step in zip(q, along, strict=True)]
        else:
            *normal, right = lines.read(values["line"])
            if ask == "parallel":
                *other, level = lines.read(values["other"])
                if other != normal:
                    return None
                place = next(place for place, each in enumerate(normal) if each)
                p = [Fraction(0)] * len(normal)
                p[place] = Fraction(level, normal[place])
            else:
                p = values["p"]
            share = (right - _dot(normal, p)) / Fraction(_dot(normal, normal))
            foot = [u + share * step for u, step in zip(p, normal, strict=True)]
        gap = [u - v for u, v in zip(p, foot, strict=True)]
        return surds.said(surds.root(_dot(gap, gap)))


def _dot(left: Sequence[Any], right: Sequence[Any]) -> Any:
    return sum(u * v for u, v in zip(left, right, strict=True))


def _divided(above: int, square: int) -> dict[int, surds.Number]:
    """A whole number over the root of another."""
    return surds.times(surds.root(square), Fraction(above, square))


def _squares(numbers: Sequence[int]) -> str:
    return " + ".join(f"{points.factor(each)}^2" for each in numbers)
