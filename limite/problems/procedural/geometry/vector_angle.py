"""Angles between vectors, and projections."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points, surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class VectorAngle(Family):
    """The angle between two vectors or its cosine, or the projection of one on the other."""

    name = "vector-angle"
    tag = "geometry/vectors"
    wordings = Wordings(
        angle=(
            "How many degrees does the angle between the vectors $(<a:integers>)$ and "
            "$(<b:integers>)$ measure?",
            "Find the angle between $(<a:integers>)$ and $(<b:integers>)$ in degrees.",
        ),
        cosine=(
            "Find the exact cosine of the angle between the vectors $(<a:integers>)$ and "
            "$(<b:integers>)$.",
            "Let $\\varphi$ be the angle between $(<a:integers>)$ and $(<b:integers>)$. What is "
            "$\\cos\\varphi$ exactly?",
        ),
        projection=(
            "Find the orthogonal projection of the vector $(<a:integers>)$ on the line spanned by "
            "$(<b:integers>)$.",
            "Which multiple of $(<b:integers>)$ is closest to $(<a:integers>)$? Give its "
            "coordinates.",
        ),
    )

    size: Ends = dial(4, 9, "largest coordinate", least=2, most=100)
    space: Ends = dial(0, 1, "share in space", least=0, most=1)
    projected: Ends = dial(0, 0.5, "share that asks for a projection", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        dimension = 3 if rng.random() < base.steady(self.space, difficulty) else 2
        projected = rng.random() < base.steady(self.projected, difficulty)
        if not projected and rng.random() < 0.3:
            return self._nice(rng, dimension, size)
        a, b = (tuple(points.nonzero(rng, size) for _ in range(dimension)) for _ in range(2))
        while _parallel(a, b):
            b = (b[0] + 1, *b[1:])
        product, first, second = _dot(a, b), _dot(a, a), _dot(b, b)
        if projected:
            share = Fraction(product, second)
            return Drawn(
                ask="projection",
                values={"a": a, "b": b},
                gold=gold.ordered([share * each for each in b]),
                steps=f"The scalar product of the vectors is ${product}$, and that of the second "
                f"with itself ${second}$. The projection is $\\frac{{{product}}}{{{second}}} = "
                f"{ratio_text(share)}$ times the second vector.",
            )
        cosine = surds.times(surds.root(first * second), Fraction(product, first * second))
        return Drawn(
            ask="cosine",
            values={"a": a, "b": b},
            gold=surds.said(cosine if product else {}),
            steps=f"The scalar product is ${product}$, and the squared lengths are ${first}$ and "
            f"${second}$. The cosine is ${product}$ divided by $\\sqrt{{{first}}} \\cdot "
            f"\\sqrt{{{second}}}$.",
        )

    def _nice(self, rng: random.Random, dimension: int, size: int) -> Drawn:
        if dimension == 2:
            p, q = points.nonzero(rng, size), points.nonzero(rng, size)
            angle = base.chosen(rng, (45, 90, 135))
            a: tuple[int, ...] = (p, q)
            b: tuple[int, ...] = {45: (p - q, p + q), 90: (-q, p), 135: (-p - q, p - q)}[angle]
        else:
            angle, a, b = base.chosen(rng, _PAIRS[base.chosen(rng, (30, 45, 60, 90))])
            order = base.shuffled(rng, range(3))
            signs = [1 if rng.random() < 0.5 else -1 for _ in range(3)]
            a = tuple(a[place] * sign for place, sign in zip(order, signs, strict=True))
            b = tuple(b[place] * sign for place, sign in zip(order, signs, strict=True))
            if rng.random() < 0.4:
                angle, b = 180 - angle, tuple(-each for each in b)
        if rng.random() < 0.5:
            a, b = b, a
        k, m = base.whole(rng, 1, 3), base.whole(rng, 1, 3)
        a, b = tuple(k * each for each in a), tuple(m * each for each in b)
        product, first, second = _dot(a, b), _dot(a, a), _dot(b, b)
        square = Fraction(product * product, first * second)
        sign = "-" if product < 0 else ""
        return Drawn(
            ask="angle",
            values={"a": a, "b": b},
            gold=gold.integer(angle, "degrees"),
            steps=f"The scalar product is ${product}$, and the squared lengths are ${first}$ and "
            f"${second}$. So the cosine of the angle is $\\frac{{{product}}}"
            f"{{\\sqrt{{{first * second}}}}} = {sign}{surds.latex(surds.root(square))}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From lengths alone, by the law of cosines; the projection as the lowest point of a
        # parabola through three distances.
        a, b = values["a"], values["b"]
        if len(a) != len(b) or not any(a) or not any(b):
            return None
        first, second, third = (_length(v) for v in (a, b, _minus(a, b, 1)))
        if ask == "projection":
            other = _length(_minus(a, b, -1))
            # |a - tb|^2 at t = 1, 0 and -1.
            bend, rise = third + other - 2 * first, third - other
            share = Fraction(-rise, 2 * bend)
            return gold.ordered([share * each for each in b])
        above = Fraction(first + second - third, 2)
        if ask == "cosine":
            square = above * above / (first * second)
            found = surds.root(square)
            return surds.said(found if above > 0 else surds.times(found, -1))
        angle = math.degrees(math.acos(max(-1.0, min(1.0, above / math.sqrt(first * second)))))
        if abs(angle - round(angle)) > 1e-5:
            return None
        return gold.integer(round(angle), "degrees")


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(u * v for u, v in zip(a, b, strict=True))


def _length(a: Sequence[int]) -> int:
    return sum(each**2 for each in a)


def _minus(a: Sequence[int], b: Sequence[int], times: int) -> list[int]:
    return [u - times * v for u, v in zip(a, b, strict=True)]


def _parallel(a: Sequence[int], b: Sequence[int]) -> bool:
    return _dot(a, b) ** 2 == _dot(a, a) * _dot(b, b)


def _pairs() -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Vectors in space with an angle of 30, 45, 60 or 90 degrees."""
    for a in ((1, 0, 0), (1, 1, 0), (1, 1, 2), (1, 2, 2), (1, 2, 3)):
        for b in itertools.product(range(-1, 5), repeat=3):
            product, whole = _dot(a, b), _dot(a, a) * _dot(b, b)
            for part, angle in ((0, 90), (1, 60), (2, 45), (3, 30)):
                if whole and product >= 0 and 4 * product * product == part * whole:
                    yield angle, a, b


_PAIRS = {angle: tuple(pair for pair in _pairs() if pair[0] == angle) for angle in (30, 45, 60, 90)}
