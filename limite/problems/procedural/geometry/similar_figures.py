"""Lengths, areas and volumes of similar figures."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_SOLIDS = ("cones", "cylinders", "pyramids", "bottles", "vases", "statues")
_FLAT = ("triangles", "pentagons", "rectangles", "hexagons", "trapezoids")


@attrs.frozen(kw_only=True)
class SimilarFigures(Family):
    """A length, an area or a volume of one of two similar figures."""

    name = "similar-figures"
    tag = "geometry/similarity"
    wordings = Wordings(
        words={"solids": _SOLIDS, "flat": _FLAT},
        length=(
            "Two <flat> are similar. A side of the first has length $<p>$, and the corresponding "
            "side of the second has length $<q>$. Another side of the first has length $<u>$. "
            "How long is the corresponding side of the second?",
            "A pole of height $<p>$ m casts a shadow $<q>$ m long. At the same time a tree "
            "casts its shadow on the same level ground. The tree is $<u>$ m high. How long is "
            "its shadow, in metres?",
        ),
        area=(
            "Two <flat> are similar. A side of the first has length $<p>$, and the corresponding "
            "side of the second has length $<q>$. The area of the first is $<u>$. What is the "
            "area of the second?",
            "Two <solids> are similar, with heights $<p>$ cm and $<q>$ cm. The surface of the "
            "first measures $<u>$ square centimetres. How many square centimetres does the "
            "surface of the second measure?",
        ),
        volume=(
            "Two <solids> are similar, with heights $<p>$ cm and $<q>$ cm. The first has a volume "
            "of $<u>$ cubic centimetres. What is the volume of the second, in cubic centimetres?",
            "A model of $<p>$ cm height is made of $<u>$ cubic centimetres of clay. How many cubic "
            "centimetres of clay does a similar model of $<q>$ cm height need?",
        ),
        surface_volume=(
            "Two <solids> are similar. The surface of the first measures $<p>$ square centimetres "
            "and that of the second $<q>$. The volume of the first is $<u>$ cubic centimetres. "
            "What is the volume of the second, in cubic centimetres?",
            "The surface areas of two similar <solids> are $<p>$ and $<q>$. The first has volume "
            "$<u>$. Find the volume of the second.",
        ),
        volume_surface=(
            "Two <solids> are similar. The first has a volume of $<p>$ cubic centimetres and the "
            "second of $<q>$. The surface of the first measures $<u>$ square centimetres. How "
            "many square centimetres does that of the second measure?",
            "The volumes of two similar <solids> are $<p>$ and $<q>$. The first has surface area "
            "$<u>$. Find the surface area of the second.",
        ),
    )

    size: Ends = dial(7, 12, "largest number in the ratio of lengths", least=3, most=20)
    power: Ends = dial(0, 1, "share with areas or volumes", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        p, q = base.whole(rng, 2, size), base.whole(rng, 2, size)
        q += q == p
        shared = math.gcd(p, q)
        p, q = p // shared, q // shared
        hard = rng.random() < base.steady(self.power, difficulty)
        kinds = ("area", "volume", "surface_volume", "volume_surface")
        kind = base.chosen(rng, kinds) if hard else "length"
        lengths = Fraction(q, p)
        unit = base.whole(rng, 2, 12)
        if kind == "length":
            times, u = base.whole(rng, 1, 3), unit + base.whole(rng, 0, 20)
            found = u * lengths
            p, q = p * times, q * times
            steps = f"The lengths are as ${p} : {q}$, so ${u}$ becomes "
            steps += f"${u} \\cdot {_over(q, p)}$."
        elif kind == "area":
            times, u = base.whole(rng, 1, 3), unit * p
            found = u * lengths**2
            p, q = p * times, q * times
            steps = (
                f"The lengths are as ${p} : {q}$, and areas grow with the square of the ratio "
                f"${_over(q, p)}$: ${u} \\cdot ({_over(q, p)})^2$."
            )
        elif kind == "volume":
            times, u = base.whole(rng, 1, 3), unit * p * p
            found = u * lengths**3
            p, q = p * times, q * times
            steps = (
                f"The lengths are as ${p} : {q}$, and volumes grow with the cube of the ratio "
                f"${_over(q, p)}$: ${u} \\cdot ({_over(q, p)})^3$."
            )
        else:
            first, second = (2, 3) if kind == "surface_volume" else (3, 2)
            times, u = base.whole(rng, 1, 4), unit * p
            # Of all bodies with a volume V the ball has the smallest surface S, and even for the
            # ball S^3 is more than 113 V^2.
            while first == 2 and (times * p**2) ** 3 < 114 * u**2:
                times += 1
            while first == 3 and u**3 < 114 * (times * p**3) ** 2:
                times, u = 1, u + 5 * p
            found = u * lengths**second
            p, q = times * p**first, times * q**first
            ratio = ratio_text(lengths)
            power = f"({ratio})^{second}" if lengths.denominator > 1 else f"{ratio}^{second}"
            steps = (
                f"The given ratio ${ratio_text(lengths**first)}$ of the second to the first is the "
                f"{'square' if first == 2 else 'cube'} of the ratio of lengths, which is "
                f"${ratio}$. What is asked for grows with its "
                f"{'cube' if first == 2 else 'square'}: ${u} \\cdot {power}$."
            )
        return Drawn(
            ask=kind, values={"p": p, "q": q, "u": u}, gold=gold.rational(found), steps=steps
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The value v of the second solves v^m p^n = u^m q^n with whole m and n: by searching for
        # a whole root of what v times a power of p must be.
        p, q, u = values["p"], values["q"], values["u"]
        m, n = {
            "length": (1, 1),
            "area": (1, 2),
            "volume": (1, 3),
            "surface_volume": (2, 3),
            "volume_surface": (3, 2),
        }[ask]
        # (v p^n)^m = u^m q^n p^(n(m - 1))
        power = u**m * q**n * p ** (n * (m - 1))
        low, high = 0, power + 1
        while high - low > 1:
            middle = (low + high) // 2
            if middle**m <= power:
                low = middle
            else:
                high = middle
        return gold.rational(Fraction(low, p**n)) if low**m == power else None


def _over(above: int, below: int) -> str:
    """Not reduced; a whole number over 1 by itself."""
    return str(above) if below == 1 else f"\\frac{{{above}}}{{{below}}}"
