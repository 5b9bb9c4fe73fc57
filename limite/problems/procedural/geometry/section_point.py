"""Points on segments and in triangles, by their coordinates."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class SectionPoint(Family):
    """The coordinates of a point that divides a segment, or its end from such a point."""

    name = "section-point"
    tag = "geometry/coordinates"
    wordings = Wordings(
        midpoint=(
            "Find the midpoint of the segment between $(<a:integers>)$ and $(<b:integers>)$.",
            "What are the coordinates of the point halfway between $A(<a:integers>)$ and "
            "$B(<b:integers>)$?",
        ),
        divides=(
            "The point $P$ divides the segment from $A(<a:integers>)$ to $B(<b:integers>)$ in the "
            "ratio $AP : PB = <m> : <n>$. Find the coordinates of $P$.",
            "On the segment with ends $A(<a:integers>)$ and $B(<b:integers>)$ lies the point $P$ "
            "with $AP : PB = <m> : <n>$. What are its coordinates?",
        ),
        end=(
            "The point $P(<p:integers>)$ lies on the segment $AB$ and $AP : PB = <m> : <n>$. The "
            "point $A$ is $(<a:integers>)$. Find the coordinates of $B$.",
            "From $A(<a:integers>)$ a segment runs through $P(<p:integers>)$ to $B$, and "
            "$AP : PB = <m> : <n>$. What are the coordinates of $B$?",
        ),
        parallelogram=(
            "Three vertices of the parallelogram $ABCD$ are $A(<a:integers>)$, $B(<b:integers>)$ "
            "and $C(<c:integers>)$. Find the coordinates of $D$.",
            "$ABCD$ is a parallelogram with $A(<a:integers>)$, $B(<b:integers>)$ and "
            "$C(<c:integers>)$. What are the coordinates of $D$?",
        ),
    )

    size: Ends = dial(6, 20, "largest coordinate", least=3, most=1000)
    parts: Ends = dial(0, 0.9, "share that is no midpoint", least=0, most=1)
    space: Ends = dial(0, 0.6, "share in space", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        dimension = 3 if rng.random() < base.steady(self.space, difficulty) else 2
        a, b = (points.somewhere(rng, size, dimension) for _ in "ab")
        if a[0] == b[0]:
            b = (b[0] + 1, *b[1:])
        if rng.random() >= base.steady(self.parts, difficulty):
            middle = [Fraction(end + other, 2) for end, other in zip(a, b, strict=True)]
            sums = ", ".join(
                f"\\frac{{{end} {_signed(other)}}}{{2}}" for end, other in zip(a, b, strict=True)
            )
            return Drawn(
                ask="midpoint",
                values={"a": a, "b": b},
                gold=gold.ordered(middle),
                steps=f"Each coordinate is the mean of those of the ends: $({sums})$.",
            )
        draw = rng.random()
        if draw < 0.25:
            c = points.somewhere(rng, size, dimension)
            step = [u - v for u, v in zip(c, b, strict=True)]
            if _crossed(a, b, c):
                d = [u + v for u, v in zip(a, step, strict=True)]
                return Drawn(
                    ask="parallelogram",
                    values={"a": a, "b": b, "c": c},
                    gold=gold.ordered(d),
                    steps=f"The side from $A$ to $D$ is the same vector as that from $B$ to $C$, "
                    f"which is $({', '.join(map(str, step))})$. Added to $A$ it gives $D$.",
                )
        m, n = base.chosen(
            rng, ((1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2), (1, 4), (3, 4), (5, 2))
        )
        if draw < 0.6:
            place = [Fraction(n * u + m * v, m + n) for u, v in zip(a, b, strict=True)]
            step = [v - u for u, v in zip(a, b, strict=True)]
            return Drawn(
                ask="divides",
                values={"a": a, "b": b, "m": m, "n": n},
                gold=gold.ordered(place),
                steps=f"From $A$ to $B$ the coordinates change by $({', '.join(map(str, step))})$. "
                f"The point $P$ lies at $\\frac{{{m}}}{{{m + n}}}$ of the way, so this part of the "
                f"change is added to $A$.",
            )
        p = b
        ratio = Fraction(n, m)
        end = [v + ratio * (v - u) for u, v in zip(a, p, strict=True)]
        step = [v - u for u, v in zip(a, p, strict=True)]
        return Drawn(
            ask="end",
            values={"a": a, "p": p, "m": m, "n": n},
            gold=gold.ordered(end),
            steps=f"From $A$ to $P$ the coordinates change by $({', '.join(map(str, step))})$, "
            f"which is ${m}$ of ${m + n}$ equal parts of $AB$. The remaining part is "
            f"${ratio_text(ratio)}$ times this change, added to $P$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # As a balance: weights at the points rest on their centre, coordinate by coordinate.
        a = values["a"]
        if ask == "parallelogram":  # the diagonals have one midpoint
            rows = zip(a, values["b"], values["c"], strict=True)
            return gold.ordered([_unknown(((1, u), (1, w)), v) for u, v, w in rows])
        m, n = (1, 1) if ask == "midpoint" else (values["m"], values["n"])
        if ask == "end":
            return gold.ordered(
                [Fraction((m + n) * v - n * u, m) for u, v in zip(a, values["p"], strict=True)]
            )
        return gold.ordered(
            [_centre(((n, u), (m, v))) for u, v in zip(a, values["b"], strict=True)]
        )


def _centre(weights: Sequence[tuple[int, int]]) -> Fraction:
    """Where weights at whole places balance."""
    return Fraction(sum(w * at for w, at in weights), sum(w for w, _ in weights))


def _unknown(weights: Sequence[tuple[int, int]], other: int) -> Fraction:
    """The place of a weight 1 that has, with one at ``other``, the centre of ``weights``."""
    return 2 * _centre(weights) - other


def _crossed(a: Sequence[int], b: Sequence[int], c: Sequence[int]) -> bool:
    """Whether three points are no line."""
    first = [v - u for u, v in zip(a, b, strict=True)]
    second = [v - u for u, v in zip(a, c, strict=True)]
    pairs = [(i, j) for i in range(len(first)) for j in range(i)]
    return any(first[i] * second[j] != first[j] * second[i] for i, j in pairs)


def _signed(number: int) -> str:
    return f"- {-number}" if number < 0 else f"+ {number}"
