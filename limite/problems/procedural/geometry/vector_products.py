"""Scalar and vector products and what they measure."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points, surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_Vector = Sequence[int]


@attrs.frozen(kw_only=True)
class VectorProducts(Family):
    """A scalar, vector or triple product of vectors in space, and the area or volume it gives."""

    name = "vector-products"
    tag = "geometry/vectors"
    wordings = Wordings(
        scalar=(
            "Find the scalar product of the vectors $(<a:integers>)$ and $(<b:integers>)$.",
            "Compute $(<a:integers>) \\cdot (<b:integers>)$, the dot product of two vectors.",
        ),
        cross=(
            "Find the vector product $(<a:integers>) \\times (<b:integers>)$.",
            "Compute the cross product of $u = (<a:integers>)$ and $v = (<b:integers>)$, in the "
            "order $u \\times v$.",
        ),
        area=(
            "Find the exact area of the triangle with vertices $(<p:integers>)$, $(<q:integers>)$ "
            "and $(<r:integers>)$.",
            "Three points in space are $A(<p:integers>)$, $B(<q:integers>)$ and $C(<r:integers>)$. "
            "What is the exact area of triangle $ABC$?",
        ),
        volume=(
            "Find the volume of the tetrahedron with vertices $(<o:integers>)$, $(<p:integers>)$, "
            "$(<q:integers>)$ and $(<r:integers>)$.",
            "A pyramid has a triangular base with corners $(<p:integers>)$, $(<q:integers>)$ and "
            "$(<r:integers>)$ and its top at $(<o:integers>)$. What is its volume?",
        ),
        orthogonal=(
            "For which value of $t$ are the vectors $(<a:integers>)$ and $(<b:integers>, t)$ "
            "perpendicular?",
            "The vectors $(<b:integers>, t)$ and $(<a:integers>)$ are orthogonal. Find $t$.",
        ),
    )

    size: Ends = dial(5, 9, "largest coordinate", least=2, most=1000)
    hard: Ends = dial(0, 0.9, "share with a vector product", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        a, b = (_vector(rng, size) for _ in "ab")
        if rng.random() >= base.steady(self.hard, difficulty):
            if rng.random() < 0.5:
                products = " + ".join(
                    f"{points.factor(u)} \\cdot {points.factor(v)}"
                    for u, v in zip(a, b, strict=True)
                )
                return Drawn(
                    ask="scalar",
                    values={"a": a, "b": b},
                    gold=gold.integer(_dot(a, b)),
                    steps=f"Multiply coordinate by coordinate and add: ${products}$.",
                )
            part = a[0] * b[0] + a[1] * b[1]
            last = f"{'-' if a[2] < 0 else '+'} {base.term(abs(a[2]), 't', first=True)}"
            return Drawn(
                ask="orthogonal",
                values={"a": a, "b": b[:2]},
                gold=gold.rational(Fraction(-part, a[2])),
                steps=f"Their scalar product must be zero: ${points.factor(a[0])} \\cdot "
                f"{points.factor(b[0])} + {points.factor(a[1])} \\cdot {points.factor(b[1])} "
                f"{last} = {part} {last} = 0$.",
            )
        kind = base.chosen(rng, ("cross", "area", "volume"))
        while not any(_cross(a, b)):
            b = (b[0] + 1, b[1], b[2])
        normal = _cross(a, b)
        if kind == "cross":
            first = (
                f"{points.factor(a[1])} \\cdot {points.factor(b[2])} - "
                f"{points.factor(a[2])} \\cdot {points.factor(b[1])} = {normal[0]}"
            )
            second = (
                f"{points.factor(a[2])} \\cdot {points.factor(b[0])} - "
                f"{points.factor(a[0])} \\cdot {points.factor(b[2])} = {normal[1]}"
            )
            third = (
                f"{points.factor(a[0])} \\cdot {points.factor(b[1])} - "
                f"{points.factor(a[1])} \\cdot {points.factor(b[0])} = {normal[2]}"
            )
            return Drawn(
                ask=kind,
                values={"a": a, "b": b},
                gold=gold.ordered(normal),
                steps=f"Its coordinates are ${first}$, ${second}$ and ${third}$.",
            )
        p = points.somewhere(rng, size, 3)
        q, r = (tuple(u + v for u, v in zip(p, step, strict=True)) for step in (a, b))
        begin = f"Two edges from the first point are $({_said(a)})$ and $({_said(b)})$"
        if kind == "area":
            square = _dot(normal, normal)
            return Drawn(
                ask=kind,
                values={"p": p, "q": q, "r": r},
                gold=surds.said(surds.times(surds.root(square), Fraction(1, 2))),
                steps=f"{begin}. Their vector product is $({_said(normal)})$, of length "
                f"$\\sqrt{{{square}}}$. The triangle has half of this as its area.",
            )
        c = _vector(rng, size)
        while not _dot(normal, c):
            c = (c[0], c[1], c[2] + 1) if normal[2] else (c[0] + 1, c[1] + 2, c[2])
        o, q, r = (tuple(u + v for u, v in zip(p, step, strict=True)) for step in (c, a, b))
        triple = _dot(normal, c)
        return Drawn(
            ask=kind,
            values={"o": o, "p": p, "q": q, "r": r},
            gold=gold.rational(Fraction(abs(triple), 6)),
            steps=f"From the corner $({_said(p)})$ the edges are $({_said(a)})$, $({_said(b)})$ "
            f"and $({_said(c)})$. The vector product of the first two is $({_said(normal)})$; its "
            f"scalar product with the third is ${triple}$. The volume is a sixth of the absolute "
            f"value.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From lengths and determinants written out by permutations: no vector product.
        if ask in ("scalar", "cross", "orthogonal"):
            a, b = values["a"], values["b"]
            if ask == "orthogonal":
                at = [_apart(a, (*b, t)) for t in (0, 1)]  # linear in t
                return gold.rational(Fraction(at[0], at[0] - at[1])) if at[0] != at[1] else None
            if len(a) != 3 or len(b) != 3:
                return None
            if ask == "scalar":
                return gold.integer(_apart(a, b))
            units = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
            return gold.ordered([_determinant((unit, a, b)) for unit in units])
        p, q, r = values["p"], values["q"], values["r"]
        a, b = ([u - v for u, v in zip(end, p, strict=True)] for end in (q, r))
        if ask == "area":  # 4 A^2 = |a|^2 |b|^2 - (ab)^2
            square = _length(a) * _length(b) - _apart(a, b) ** 2
            return surds.said(surds.root(Fraction(square, 4))) if square > 0 else None
        c = [u - v for u, v in zip(values["o"], p, strict=True)]
        return gold.rational(Fraction(abs(_determinant((c, a, b))), 6))


def _vector(rng: random.Random, size: int) -> tuple[int, int, int]:
    return points.nonzero(rng, size), points.nonzero(rng, size), points.nonzero(rng, size)


def _said(vector: _Vector) -> str:
    return ", ".join(map(str, vector))


def _dot(a: _Vector, b: _Vector) -> int:
    return sum(u * v for u, v in zip(a, b, strict=True))


def _cross(a: _Vector, b: _Vector) -> tuple[int, int, int]:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def _length(a: _Vector) -> int:
    """The square of the length."""
    return sum(u**2 for u in a)


def _apart(a: _Vector, b: _Vector) -> int:
    """The scalar product, from the lengths of the sum and the difference."""
    plus = [u + v for u, v in zip(a, b, strict=True)]
    minus = [u - v for u, v in zip(a, b, strict=True)]
    return (_length(plus) - _length(minus)) // 4


def _determinant(rows: Sequence[_Vector]) -> int:
    total = 0
    for order in itertools.permutations(range(3)):
        turns = sum(order[i] > order[j] for j in range(3) for i in range(j))
        total += (-1) ** turns * rows[0][order[0]] * rows[1][order[1]] * rows[2][order[2]]
    return total
