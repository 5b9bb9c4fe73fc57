"""Equations of circles, and the centre and radius of a circle from its equation."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.core.types import Answer
from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import lines, points, surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_ROUND = {
    square: [(x, y) for x in range(-13, 14) for y in range(-13, 14) if x * x + y * y == square]
    for square in (25, 50, 65, 85, 100, 125, 130, 145, 170)
}
"""Whole steps in x and y whose squares have a sum."""
_LEGS = ((3, 4), (4, 3), (5, 12), (12, 5), (8, 15), (15, 8), (7, 24), (24, 7))


@attrs.frozen(kw_only=True)
class CircleEquation(Family):
    """The equation of a circle from points and tangents, or its centre from the equation."""

    name = "circle-equation"
    tag = "geometry/circles"
    wordings = Wordings(
        centre=(
            "Find an equation in $x$ and $y$ of the circle with centre $(<m:integers>)$ that "
            "passes through $(<p:integers>)$.",
            "A circle has its centre at $(<m:integers>)$ and contains the point $(<p:integers>)$. "
            "Give an equation of it in $x$ and $y$.",
        ),
        diameter=(
            "Find an equation in $x$ and $y$ of the circle that has the segment from "
            "$(<p:integers>)$ to $(<q:integers>)$ as a diameter.",
            "The ends of a diameter of a circle are $(<p:integers>)$ and $(<q:integers>)$. Give "
            "an equation of the circle in $x$ and $y$.",
        ),
        tangent=(
            "Find an equation in $x$ and $y$ of the circle with centre $(<m:integers>)$ that "
            "touches the line $<line:text>$.",
            "A circle with centre $(<m:integers>)$ has the line $<line:text>$ as a tangent. Give "
            "an equation of the circle in $x$ and $y$.",
        ),
        points=(
            "Find an equation in $x$ and $y$ of the circle through $(<p:integers>)$, "
            "$(<q:integers>)$ and $(<r:integers>)$.",
            "A circle passes through the points $(<p:integers>)$, $(<q:integers>)$ and "
            "$(<r:integers>)$. Give an equation of it in $x$ and $y$.",
        ),
        middle=(
            "Find the centre of the circle $x^2 + y^2<rest:text> = 0$.",
            "At which point is the centre of the circle with the equation "
            "$x^2 + y^2<rest:text> = 0$?",
        ),
        radius=(
            "Find the exact radius of the circle $x^2 + y^2<rest:text> = 0$.",
            "What is the exact radius of the circle with the equation $x^2 + y^2<rest:text> = 0$?",
        ),
    )

    size: Ends = dial(5, 12, "largest coordinate of the centre", least=3, most=1000)
    hard: Ends = dial(
        0, 0.9, "share with three points, a tangent or a given equation", least=0, most=1
    )

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        m, step = (
            points.somewhere(rng, size),
            (points.nonzero(rng, size), points.nonzero(rng, size)),
        )
        p = (m[0] + step[0], m[1] + step[1])
        square = step[0] ** 2 + step[1] ** 2
        from_centre = (
            f"The squared radius is ${points.factor(step[0])}^2 + {points.factor(step[1])}^2 = "
            f"{square}$"
        )
        if rng.random() >= base.steady(self.hard, difficulty):
            if rng.random() < 0.5:
                return Drawn(
                    ask="centre",
                    values={"m": m, "p": p},
                    gold=_said(m, square),
                    steps=f"From the centre to the given point, $x$ changes by ${step[0]}$ and $y$ "
                    f"by ${step[1]}$. {from_centre}.",
                )
            return Drawn(
                ask="diameter",
                values={"p": p, "q": (m[0] - step[0], m[1] - step[1])},
                gold=_said(m, square),
                steps=f"The centre is the midpoint $({m[0]}, {m[1]})$ of the diameter. "
                f"{from_centre}.",
            )
        kind = base.chosen(rng, ("tangent", "points", "middle", "radius"))
        if kind == "tangent":
            a, b = base.chosen(rng, _LEGS)
            b = -b if rng.random() < 0.5 else b
            length = math.isqrt(a * a + b * b)
            away = points.nonzero(rng, size)
            at = a * m[0] + b * m[1]
            line = (a, b, at + away * length)
            return Drawn(
                ask=kind,
                values={"m": m, "line": lines.latex(line)},
                gold=_said(m, away * away),
                steps=f"At the centre the left side of the equation of the line is ${at}$, which "
                f"differs from ${line[2]}$ by ${abs(away) * length}$. Divided by "
                f"$\\sqrt{{{a * a} + {b * b}}} = {length}$ this is the distance ${abs(away)}$ of "
                f"the centre from the line, and so the radius.",
            )
        if kind == "points":
            square = base.chosen(rng, (25, 50, 65, 85, 100, 125, 130, 145, 170))
            around = _ROUND[square]
            offsets = [around[each] for each in base.distinct(rng, 3, 0, len(around) - 1)]
            p, q, r = ((m[0] + right, m[1] + up) for right, up in offsets)
            first, second = _bisector(p, q), _bisector(p, r)
            return Drawn(
                ask=kind,
                values={"p": p, "q": q, "r": r},
                gold=_said(m, square),
                steps=f"The centre is equally far from the first two points, so "
                f"${lines.latex(first)}$, and from the first and the third, so "
                f"${lines.latex(second)}$. This gives the centre "
                f"$({m[0]}, {m[1]})$. The squared distance to the first point is "
                f"${points.factor(offsets[0][0])}^2 + {points.factor(offsets[0][1])}^2 = "
                f"{square}$, and the squared radius is the same.",
            )
        if m == (0, 0):
            m = (size, 1)
        square = base.whole(rng, 1, 4 * size)
        rest = m[0] ** 2 + m[1] ** 2 - square
        values = {"rest": _rest((-2 * m[0], -2 * m[1], rest))}
        squares = [
            f"${letter}^2 {_signed(-2 * at)}{letter}$ belongs to $({letter} {_signed(-at)})^2$"
            if at
            else f"${letter}^2$ is a square already"
            for letter, at in zip("xy", m, strict=True)
        ]
        steps = f"Complete the squares: {squares[0]}, and {squares[1]}"
        found = gold.ordered(m) if kind == "middle" else surds.said(surds.root(square))
        return Drawn(
            ask=kind,
            values=values,
            gold=found,
            steps=f"{steps}. The equation becomes ${_latex(m, square)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the general equation x^2 + y^2 + dx + ey + f = 0, whose coefficients are found.
        if ask in ("middle", "radius"):
            d, e, f = _read(values["rest"])
            if ask == "middle":
                return gold.ordered([Fraction(-d, 2), Fraction(-e, 2)])
            square = Fraction(d * d + e * e - 4 * f, 4)
            return surds.said(surds.root(square)) if square > 0 else None
        if ask == "diameter":  # (x - u)(x - s) + (y - v)(y - t) = 0, by Thales
            (u, v), (s, t) = values["p"], values["q"]
            return _general(-(u + s), -(v + t), u * s + v * t)
        if ask == "points":
            return _through([values[name] for name in "pqr"])
        x, y = values["m"]
        if ask == "centre":
            u, v = values["p"]
            return _general(-2 * x, -2 * y, 2 * x * u + 2 * y * v - u * u - v * v)
        a, b, c = lines.read(values["line"])
        # The foot of the centre on the line is the point of contact.
        foot = lines.crossing((a, b, c), (b, -a, b * x - a * y))
        if foot is None:
            return None
        u, v = foot
        return _general(-2 * x, -2 * y, 2 * x * u + 2 * y * v - u * u - v * v)


def _latex(centre: Sequence[int], square: int) -> str:
    parts = []
    for letter, at in zip("xy", centre, strict=True):
        sign = "+" if at < 0 else "-"
        parts.append(f"({letter} {sign} {abs(at)})^2" if at else f"{letter}^2")
    return f"{' + '.join(parts)} = {square}"


def _said(centre: Sequence[int], square: int) -> Gold:
    d, e = -2 * centre[0], -2 * centre[1]
    found = _general(d, e, centre[0] ** 2 + centre[1] ** 2 - square)
    return Gold(found.answer, _latex(centre, square))


def _general(d: Fraction | int, e: Fraction | int, f: Fraction | int) -> Gold:
    whole = [Fraction(each) for each in (d, e, f)]
    text = "x^2+y^2" + "".join(
        f"{'-' if size < 0 else '+'}{'' if abs(size) == 1 and letter else abs(size)}"
        f"{'*' if abs(size) != 1 and letter else ''}{letter}"
        for size, letter in zip(whole, ("x", "y", ""), strict=True)
        if size
    )
    params = {"variables": ["x", "y"]}
    return Gold(Answer(type="equation", value=f"{text}=0", params=params), f"{text} = 0")


def _bisector(p: Sequence[int], q: Sequence[int]) -> lines.Line:
    total = q[0] ** 2 + q[1] ** 2 - p[0] ** 2 - p[1] ** 2
    return lines.reduced((2 * (q[0] - p[0]), 2 * (q[1] - p[1]), total))


def _through(places: Sequence[Sequence[int]]) -> Gold | None:
    """Cramer's rule for dx + ey + f = -(x^2 + y^2) at three points."""
    rows = [(x, y, 1, -(x * x + y * y)) for x, y in places]
    below = _determinant(rows, (0, 1, 2))
    if not below:
        return None
    parts = [_determinant(rows, places) for places in ((3, 1, 2), (0, 3, 2), (0, 1, 3))]
    return _general(*(Fraction(part, below) for part in parts))


def _determinant(rows: Sequence[Sequence[int]], columns: Sequence[int]) -> int:
    (a, b, c), (d, e, f), (g, h, i) = ([row[place] for place in columns] for row in rows)
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def _rest(coefficients: Sequence[int]) -> str:
    """`` - 4x + 6y - 3``."""
    return "".join(
        f" {'-' if size < 0 else '+'} {'' if abs(size) == 1 and letter else abs(size)}{letter}"
        for size, letter in zip(coefficients, ("x", "y", ""), strict=True)
        if size
    )


def _read(text: str) -> tuple[int, int, int]:
    found = {"x": 0, "y": 0, "": 0}
    for part in text.replace("- ", "-").replace("+ ", "+").split():
        letter = part[-1] if part[-1] in "xy" else ""
        found[letter] = int(part.removesuffix(letter) if letter else part)
    return found["x"], found["y"], found[""]


def _signed(number: int) -> str:
    return f"- {-number}" if number < 0 else f"+ {number}"
