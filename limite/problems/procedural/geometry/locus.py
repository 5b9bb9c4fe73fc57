"""Equations of curves whose points meet a condition on distances."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.core.types import Answer
from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_Form = tuple[Fraction | int, ...]
"""Factors of x^2, y^2, x, y and 1."""


@attrs.frozen(kw_only=True)
class Locus(Family):
    """The equation of all points whose distances from given points or lines meet a condition."""

    name = "locus"
    tag = "geometry/curves"
    wordings = Wordings(
        circle=(
            "Find an equation in $x$ and $y$ of the set of all points at distance $<d>$ from "
            "$(<p:integers>)$.",
            "Which equation in $x$ and $y$ describes the points of the plane that are $<d>$ away "
            "from $(<p:integers>)$?",
        ),
        parabola=(
            "Find an equation in $x$ and $y$ of the set of all points that are equally far from "
            "the point $(<p:integers>)$ and the line $<axis:word> = <d>$.",
            "Which equation in $x$ and $y$ describes the parabola with focus $(<p:integers>)$ and "
            "directrix $<axis:word> = <d>$?",
        ),
        ratio=(
            "Find an equation in $x$ and $y$ of the set of all points whose distance from "
            "$(<p:integers>)$ is $<k>$ times their distance from $(<q:integers>)$.",
            "Which equation in $x$ and $y$ describes all points of the plane that are $<k>$ times "
            "as far from $(<p:integers>)$ as from $(<q:integers>)$?",
        ),
        squares=(
            "Find an equation in $x$ and $y$ of the set of all points for which the squares of "
            "the distances from $(<p:integers>)$ and from $(<q:integers>)$ have the sum $<d>$.",
            "The squared distances of a point from $(<p:integers>)$ and $(<q:integers>)$ sum to "
            "$<d>$. Which equation in $x$ and $y$ describes all such points?",
        ),
    )

    size: Ends = dial(5, 9, "largest coordinate", least=2, most=100)
    hard: Ends = dial(0, 0.9, "share that is no circle around a given point", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        p = points.nonzero(rng, size), points.nonzero(rng, size)
        if rng.random() >= base.steady(self.hard, difficulty):
            d = base.whole(rng, 2, size)
            return Drawn(
                ask="circle",
                values={"p": p, "d": d},
                gold=_curve(_plus(_from(*p), (0, 0, 0, 0, -d * d)), _squares(p, d * d)),
                steps=f"The squared distance of $(x, y)$ from the point is ${_left(p)}$, and it "
                f"must be ${d}^2 = {d * d}$.",
            )
        kind = base.chosen(rng, ("parabola", "ratio", "squares"))
        if kind == "parabola":
            axis = base.chosen(rng, "xy")
            along = "xy".index(axis)
            gap = 2 * points.nonzero(rng, max(size // 2, 1))
            d = p[along] - gap
            # The other coordinate squared is 2 gap times what is more than halfway.
            half = p[along] - gap // 2
            other, at = "yx"[along], p[1 - along]
            folded = f"({other} {_signed(-at)})^2"
            right = f"{2 * gap}({axis} {_signed(-half)})" if half else f"{2 * gap}{axis}"
            form: list[Fraction | int] = [0, 0, 0, 0, at * at + 2 * gap * half]
            form[1 - along], form[3 - along], form[2 + along] = 1, -2 * at, -2 * gap
            return Drawn(
                ask=kind,
                values={"p": p, "axis": axis, "d": d},
                gold=_curve(tuple(form), f"{folded} = {right}"),
                steps=f"The squared distances are ${_left(p)}$ and $({axis} {_signed(-d)})^2$. "
                f"Where they are equal, ${folded} = ({axis} {_signed(-d)})^2 - "
                f"({axis} {_signed(-p[along])})^2$, and the right side is ${right}$."
                if d
                else f"The squared distances are ${_left(p)}$ and ${axis}^2$. Where they are "
                f"equal, ${folded} = {axis}^2 - ({axis} {_signed(-p[along])})^2$, and the right "
                f"side is ${right}$.",
            )
        step = points.nonzero(rng, 4), points.nonzero(rng, 4)
        if kind == "ratio":
            k = base.whole(rng, 2, 3)
            # The centre lies beyond q: q + (q - p)/(k^2 - 1); so that it is whole, p is far off.
            q = p
            p = q[0] - (k * k - 1) * step[0], q[1] - (k * k - 1) * step[1]
            centre = q[0] + step[0], q[1] + step[1]
            square = k * k * (step[0] ** 2 + step[1] ** 2)
            return Drawn(
                ask=kind,
                values={"p": p, "q": q, "k": k},
                gold=_curve(_plus(_from(*centre), (0, 0, 0, 0, -square)), _squares(centre, square)),
                steps=f"Squared, the condition is ${_left(p)} = {k * k}({_left(q)})$. Moved to one "
                f"side and divided by ${k * k - 1}$, it has $x^2 + y^2$ as its square terms, and "
                f"completing the squares gives the centre $({centre[0]}, {centre[1]})$ and the "
                f"squared radius ${square}$.",
            )
        q = p[0] + 2 * step[0], p[1] + 2 * step[1]
        centre = p[0] + step[0], p[1] + step[1]
        square, apart = base.whole(rng, 1, 3 * size), 2 * (step[0] ** 2 + step[1] ** 2)
        total = 2 * square + apart
        return Drawn(
            ask=kind,
            values={"p": p, "q": q, "d": total},
            gold=_curve(_plus(_from(*centre), (0, 0, 0, 0, -square)), _squares(centre, square)),
            steps=f"The sum of the squared distances from both points is twice the squared "
            f"distance from their midpoint $({centre[0]}, {centre[1]})$ plus half of the squared "
            f"distance between them, which is ${2 * apart}$. So the squared distance from the "
            f"midpoint is $({total} - {apart}) : 2 = {square}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the coefficients of the squared distances, multiplied out.
        first, d = _from(*values["p"]), values.get("d", 0)
        if ask == "circle":
            found = _plus(first, (0, 0, 0, 0, -d * d))
        elif ask == "parabola":
            line = (1, 0, -2 * d, 0, d * d) if values["axis"] == "x" else (0, 1, 0, -2 * d, d * d)
            found = _plus(first, line, -1)
        elif ask == "ratio":
            found = _plus(first, _from(*values["q"]), -(values["k"] ** 2))
        else:
            found = _plus(_plus(first, _from(*values["q"])), (0, 0, 0, 0, -d))
        lead = Fraction(found[0] or found[1])
        if not lead:
            return None
        return _curve(tuple(each / lead for each in found), "")


def _from(x: int, y: int) -> _Form:
    """The squared distance from a point."""
    return (1, 1, -2 * x, -2 * y, x * x + y * y)


def _plus(left: _Form, right: _Form, times: int = 1) -> _Form:
    return tuple(u + times * v for u, v in zip(left, right, strict=True))


def _curve(form: _Form, latex: str) -> Gold:
    text = ""
    for factor, kernel in zip(form, ("x^2", "y^2", "x", "y", ""), strict=True):
        if factor:
            size = abs(factor)
            text += "-" if factor < 0 else "+" if text else ""
            text += f"{'' if size == 1 else f'{size}*'}{kernel}" if kernel else str(size)
    params = {"variables": ["x", "y"]}
    return Gold(Answer(type="equation", value=f"{text}=0", params=params), latex)  # is canonical


def _left(p: tuple[int, ...]) -> str:
    return " + ".join(
        f"({letter} {_signed(-at)})^2" if at else f"{letter}^2"
        for letter, at in zip("xy", p, strict=True)
    )


def _squares(p: tuple[int, ...], square: int) -> str:
    return f"{_left(p)} = {square}"


def _signed(number: int) -> str:
    return f"- {-number}" if number < 0 else f"+ {number}"
