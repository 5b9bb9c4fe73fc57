"""Whether lengths form a triangle, and of what kind it is."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (9, 40, 41))


@attrs.frozen(kw_only=True)
class TriangleKinds(Family):
    """Whether three lengths form a triangle, or whether a triangle is acute, right or obtuse."""

    name = "triangle-kinds"
    tag = "geometry/triangles"
    wordings = Wordings(
        words={"thing": ("sticks", "rods", "straws", "beams")},
        exists=(
            "Is there a triangle with positive area whose sides have lengths $<a>$, $<b>$ and "
            "$<c>$? Answer yes or no.",
            "Three <thing> are $<a>$ cm, $<b>$ cm and $<c>$ cm long. Can they be put together, end "
            "to end, to form a triangle with positive area? Answer yes or no.",
        ),
        sides=(
            "A triangle has sides of lengths $<a>$, $<b>$ and $<c>$. Is it acute, right or "
            "obtuse? Answer with one of these three words.",
            "What is the triangle with sides $<a>$, $<b>$ and $<c>$: acute, right or obtuse? "
            "Answer with one word.",
        ),
        corners=(
            "A triangle has the vertices $(<p:integers>)$, $(<q:integers>)$ and $(<r:integers>)$. "
            "Is it acute, right or obtuse? Answer with one of these three words.",
            "The points $(<p:integers>)$, $(<q:integers>)$ and $(<r:integers>)$ are the vertices "
            "of a triangle. Which word describes it: acute, right or obtuse?",
        ),
    )

    size: Ends = dial(12, 60, "largest length", least=8, most=1000)
    corners: Ends = dial(0, 0.7, "share given by vertices", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        if rng.random() < base.steady(self.corners, difficulty):
            return self._corners(rng, round(3 + size / 6))
        a, b = base.whole(rng, 3, size), base.whole(rng, 3, size)
        if rng.random() < 0.4:
            near = a + b if rng.random() < 0.5 else abs(a - b)
            inside = rng.random() < 0.5
            far = base.whole(rng, 1, 3) if inside else base.whole(rng, 0, 2)
            c = max(1, near - far if inside == (near == a + b) else near + far)
            low, mid, high = sorted((a, b, c))
            fits = low + mid > high
            relation = "more than" if fits else "less than" if low + mid < high else "equal to"
            return Drawn(
                ask="exists",
                values=dict(zip("abc", base.shuffled(rng, (a, b, c)), strict=True)),
                gold=gold.boolean(fits),
                steps=f"The two shorter lengths together must be more than the longest. Here "
                f"${low} + {mid} = {low + mid}$ is {relation} ${high}$.",
            )
        wanted = base.chosen(rng, ("acute", "right", "obtuse"))
        if wanted == "right":
            k = base.whole(rng, 1, max(1, size / 12))
            low, mid, high = (k * each for each in base.chosen(rng, _TRIPLES))
        else:
            low, mid = min(a, b), max(a, b)
            even = low * low + mid * mid
            longest = [
                c
                for c in range(mid, low + mid)
                if c * c != even and (c * c < even) == (wanted == "acute")
            ]
            # Near the border it takes a computation to tell.
            close = longest[-6:] if wanted == "acute" else longest[:6]
            high = base.chosen(rng, close) if close else mid
        left, right = low * low + mid * mid, high * high
        return Drawn(
            ask="sides",
            values=dict(zip("abc", base.shuffled(rng, (low, mid, high)), strict=True)),
            gold=gold.string(_kind(left - right)),
            steps=f"Compare the square of the longest side with the sum of the other squares: "
            f"${low}^2 + {mid}^2 = {left}$ is {_than(left, right)} ${high}^2 = {right}$, so the "
            f"largest angle is {_angle(left - right)}.",
        )

    def _corners(self, rng: random.Random, size: int) -> Drawn:
        wanted = base.chosen(rng, ("acute", "right", "obtuse"))
        for _ in range(20):
            p, q, r = points.triangle(rng, size)
            if wanted == "right":  # at p
                step, k = (q[0] - p[0], q[1] - p[1]), points.nonzero(rng, 2)
                r = (p[0] - k * step[1], p[1] + k * step[0])
            corners = base.shuffled(rng, (p, q, r))
            products = [
                sum(
                    (v - u) * (w - u)
                    for u, v, w in zip(corners[k], corners[k - 2], corners[k - 1], strict=True)
                )
                for k in range(3)
            ]
            if _kind(min(products)) == wanted:
                break
        least = min(products)
        return Drawn(
            ask="corners",
            values=dict(zip("pqr", corners, strict=True)),
            gold=gold.string(_kind(least)),
            steps=f"At each vertex take the scalar product of the vectors to the other two: "
            f"${', '.join(map(str, products))}$. The smallest of them is "
            f"{'positive' if least > 0 else 'zero' if least == 0 else 'negative'}, so the largest "
            f"angle is {_angle(least)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By Heron's product for a triangle at all, and by where the circumcentre lies, from
        # the signs of its weights, for the angles.
        if ask == "corners":
            p, q, r = values["p"], values["q"], values["r"]
            squares = [
                sum((u - v) ** 2 for u, v in zip(one, other, strict=True))
                for one, other in ((p, q), (q, r), (r, p))
            ]
        else:
            squares = [values[name] ** 2 for name in "abc"]
        x, y, z = squares
        area = 2 * (x * y + y * z + z * x) - x * x - y * y - z * z
        if ask == "exists":
            a, b, c = values["a"], values["b"], values["c"]
            return gold.boolean((a + b - c) * (b + c - a) * (c + a - b) > 0)
        if area <= 0:
            return None
        weights = [each * (x + y + z - 2 * each) for each in squares]
        return gold.string(_kind(min(weights)))


def _kind(sign: int) -> str:
    return "acute" if sign > 0 else "right" if sign == 0 else "obtuse"


def _angle(sign: int) -> str:
    return f"{'less than' if sign > 0 else 'exactly' if sign == 0 else 'more than'} $90$ degrees"


def _than(left: int, right: int) -> str:
    return "more than" if left > right else "equal to" if left == right else "less than"
