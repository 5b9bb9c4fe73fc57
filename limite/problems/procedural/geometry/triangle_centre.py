"""Centroid, circumcentre and orthocentre of triangles by coordinates."""

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

_TRIANGLE = "A triangle has the vertices $(<a:integers>)$, $(<b:integers>)$ and $(<c:integers>)$. "


@attrs.frozen(kw_only=True)
class TriangleCentre(Family):
    """The centroid, the circumcentre or the orthocentre of a triangle."""

    name = "triangle-centre"
    tag = "geometry/triangles"
    wordings = Wordings(
        centroid=(
            _TRIANGLE + "Find the coordinates of its centroid.",
            "At which point do the medians of the triangle with vertices $(<a:integers>)$, "
            "$(<b:integers>)$ and $(<c:integers>)$ meet?",
        ),
        circumcentre=(
            _TRIANGLE + "Find the coordinates of its circumcentre.",
            "Which point of the plane is equally far from $(<a:integers>)$, $(<b:integers>)$ and "
            "$(<c:integers>)$? Give its coordinates.",
        ),
        orthocentre=(
            _TRIANGLE + "Find the coordinates of its orthocentre.",
            "At which point do the altitudes of the triangle with vertices $(<a:integers>)$, "
            "$(<b:integers>)$ and $(<c:integers>)$, or the lines that contain them, meet?",
        ),
    )

    size: Ends = dial(5, 12, "largest coordinate", least=3, most=1000)
    hard: Ends = dial(0, 0.85, "share that is no centroid", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        a, b, c = points.triangle(rng, size)
        values = {"a": a, "b": b, "c": c}
        total = [sum(parts) for parts in zip(a, b, c, strict=True)]
        if rng.random() >= base.steady(self.hard, difficulty):
            return Drawn(
                ask="centroid",
                values=values,
                gold=gold.ordered([Fraction(part, 3) for part in total]),
                steps=f"The coordinates of the centroid are the means of those of the vertices, "
                f"whose sums are ${total[0]}$ and ${total[1]}$. Divide both by $3$.",
            )
        first, second = _bisector(a, b), _bisector(a, c)
        centre = lines.crossing(first, second)
        assert centre is not None
        begin = (
            f"The points equally far from the first two vertices satisfy ${lines.latex(first)}$, "
            f"those equally far from the first and the third ${lines.latex(second)}$. Both hold "
            f"at $({ratio_text(centre[0])}, {ratio_text(centre[1])})$"
        )
        if rng.random() < 0.5:
            return Drawn(
                ask="circumcentre", values=values, gold=gold.ordered(centre), steps=f"{begin}."
            )
        ortho = [part - 2 * at for part, at in zip(total, centre, strict=True)]
        return Drawn(
            ask="orthocentre",
            values=values,
            gold=gold.ordered(ortho),
            steps=f"{begin}, the circumcentre. The sum of the vertices is "
            f"$({total[0]}, {total[1]})$. The orthocentre is this sum less twice the circumcentre.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        a, b, c = values["a"], values["b"], values["c"]
        if ask == "circumcentre":
            # With weights a^2(b^2 + c^2 - a^2) and so on, a, b, c being the sides.
            squares = [_square(b, c), _square(c, a), _square(a, b)]
            weights = [each * (sum(squares) - 2 * each) for each in squares]
            whole = sum(weights)
            if not whole:
                return None
            return gold.ordered(
                [
                    Fraction(
                        sum(w * p[axis] for w, p in zip(weights, (a, b, c), strict=True)), whole
                    )
                    for axis in (0, 1)
                ]
            )
        # Two medians, or two altitudes, as lines through vertices.
        across = _median if ask == "centroid" else _altitude
        found = lines.crossing(across(a, b, c), across(b, c, a))
        return None if found is None else gold.ordered(found)


def _bisector(p: Sequence[int], q: Sequence[int]) -> lines.Line:
    total = q[0] ** 2 + q[1] ** 2 - p[0] ** 2 - p[1] ** 2
    return lines.reduced((2 * (q[0] - p[0]), 2 * (q[1] - p[1]), total))


def _median(p: Sequence[int], q: Sequence[int], r: Sequence[int]) -> lines.Line:
    right, up = q[0] + r[0] - 2 * p[0], q[1] + r[1] - 2 * p[1]
    return (up, -right, up * p[0] - right * p[1])


def _altitude(p: Sequence[int], q: Sequence[int], r: Sequence[int]) -> lines.Line:
    right, up = r[0] - q[0], r[1] - q[1]
    return (right, up, right * p[0] + up * p[1])


def _square(p: Sequence[int], q: Sequence[int]) -> int:
    return (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2
