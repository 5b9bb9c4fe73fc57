"""Equations of lines through points, parallel or square to others."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import lines, points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class LineEquation(Family):
    """The equation of a line: through two points, or parallel or square to another line."""

    name = "line-equation"
    tag = "geometry/lines"
    wordings = Wordings(
        points=(
            "Find an equation in $x$ and $y$ of the line through $(<p:integers>)$ and "
            "$(<q:integers>)$.",
            "A line passes through the points $(<p:integers>)$ and $(<q:integers>)$. Give an "
            "equation of it in $x$ and $y$.",
        ),
        parallel=(
            "Find an equation in $x$ and $y$ of the line through $(<p:integers>)$ that is "
            "parallel to the line $<line:text>$.",
            "A line is parallel to $<line:text>$ and passes through the point $(<p:integers>)$. "
            "Give an equation of it in $x$ and $y$.",
        ),
        square=(
            "Find an equation in $x$ and $y$ of the line through $(<p:integers>)$ that is "
            "perpendicular to the line $<line:text>$.",
            "A line is perpendicular to $<line:text>$ and passes through the point "
            "$(<p:integers>)$. Give an equation of it in $x$ and $y$.",
        ),
        side=(
            "Find an equation in $x$ and $y$ of the line through $(<r:integers>)$ that is "
            "parallel to the line through $(<p:integers>)$ and $(<q:integers>)$.",
            "Give an equation in $x$ and $y$ of the line that contains $(<r:integers>)$ and is "
            "parallel to the segment from $(<p:integers>)$ to $(<q:integers>)$.",
        ),
    )

    size: Ends = dial(4, 15, "largest coordinate", least=3, most=1000)
    given: Ends = dial(0, 0.8, "share that depends on another line", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        p = points.somewhere(rng, size)
        indirect = rng.random() < base.steady(self.given, difficulty)
        kind = base.chosen(rng, ("parallel", "square", "side")) if indirect else "points"
        right, up = points.nonzero(rng, size), points.nonzero(rng, size)
        if kind in ("points", "side"):
            q = (p[0] + right, p[1] + up)
            a, b, _ = lines.reduced((up, -right, 0))
            slope = f"In the direction of the line, $x$ changes by ${right}$ and $y$ by ${up}$"
            on = p
            values: dict[str, Any] = {"p": p, "q": q}
            if kind == "side":
                on = points.somewhere(rng, size)
                while a * (on[0] - p[0]) + b * (on[1] - p[1]) == 0:
                    on = (on[0], on[1] + 1)
                values["r"] = on
        else:
            shared = math.gcd(right, up)
            given = lines.reduced((right, up, points.nonzero(rng, 2 * size) * shared))
            turned = given[:2] if kind == "parallel" else (given[1], -given[0])
            a, b, _ = lines.reduced((*turned, 0))
            while given[0] * p[0] + given[1] * p[1] == given[2]:
                p = (p[0], p[1] + 1)
            on = p
            slope = (
                f"The line ${lines.latex(given)}$ stands square to the vector "
                f"$({given[0]}, {given[1]})$ and runs along $({given[1]}, {-given[0]})$"
            )
            values = {"p": p, "line": lines.latex(given)}
        c = a * on[0] + b * on[1]
        return Drawn(
            ask=kind,
            values=values,
            gold=lines.said((a, b, c)),
            steps=f"{slope}. So the vector $({a}, {b})$ is square to the line that is asked for, "
            f"and $ax + by$ with $a = {a}$ and $b = {b}$ is the same for all of its points. At "
            f"$({on[0]}, {on[1]})$ it is ${a} \\cdot {points.factor(on[0])} "
            f"{_signed(b)} \\cdot {points.factor(on[1])} = {c}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By two of its points and the determinant that vanishes where three points are in line.
        p = values["p"]
        if ask in ("points", "side"):
            q = values["q"]
            if ask == "side":
                r = values["r"]
                p, q = r, (r[0] + q[0] - p[0], r[1] + q[1] - p[1])
        else:
            a, b, _ = lines.read(values["line"])
            along = (-b, a) if ask == "parallel" else (a, b)
            q = (p[0] + along[0], p[1] + along[1])
        (x, y), (u, v) = p, q
        if (x, y) == (u, v):
            return None
        return lines.said((y - v, u - x, u * y - x * v))


def _signed(number: int) -> str:
    return f"- {-number}" if number < 0 else f"+ {number}"
