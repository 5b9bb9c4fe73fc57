"""The largest and the smallest that can be made under a condition."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_SHEETS = ((1, 1, 1), (8, 5, 7), (8, 3, 7), (15, 7, 13), (15, 8, 13), (21, 16, 19))
"""Sides u and v with a whole root of u^2 - uv + v^2, so that the best cut is rational."""
_FORM = re.compile(r"([0-9]+)x(?:\^([0-9]))?y(?:\^([0-9]))?")


@attrs.frozen(kw_only=True)
class Optimisation(Family):
    """The largest area, volume, product or profit that a condition allows."""

    name = "optimisation"
    tag = "calculus/optimisation"
    wordings = Wordings(
        words={"animal": ("sheep", "horses", "goats"), "fruit": ("apples", "plums", "pears")},
        product=(
            "Two real numbers have the sum $<s>$. What is the largest possible value of the "
            "product of the first and <k> times the second?",
            "Real numbers $x$ and $y$ satisfy $x + y = <s>$. Find the largest possible value of "
            "$<k>xy$.",
        ),
        fence=(
            "A rectangular meadow for <animal> lies along a straight river and needs no fence "
            "there. There are $<s>$ m of fence for its other sides and for <k> inner fences "
            "perpendicular to the river. Find the largest possible area of the meadow in square "
            "metres.",
            "With $<s>$ m of fence a rectangular field along a straight wall is enclosed on its "
            "three other sides, and divided by <k> fences perpendicular to the wall. What is the "
            "largest area, in square metres, that it can have?",
        ),
        profit=(
            "A shop sells $<s>$ baskets of <fruit> a day at a price of $<q>$ crowns each. With "
            "every crown that the price rises, it sells <k> baskets fewer. Any price, also one "
            "that is not a whole number of crowns, may be set. Find the largest possible daily "
            "revenue in crowns.",
            "At a price of $<q>$ crowns $<s>$ tickets are sold, and each crown more means <k> "
            "tickets fewer, in proportion also for parts of a crown. What is the largest possible "
            "revenue, in crowns?",
        ),
        box=(
            "From each corner of a rectangular sheet of $<u>$ cm by $<v>$ cm an equal square is "
            "cut, and the sides are folded up to an open box. Find the largest possible volume of "
            "the box in cubic centimetres.",
            "An open box is made from a sheet of metal of $<u>$ cm by $<v>$ cm by cutting equal "
            "squares out of the corners and folding up the edges. What is its largest possible "
            "volume, in cubic centimetres?",
        ),
        power=(
            "Two nonnegative real numbers $x$ and $y$ have the sum $<s>$. Find the largest "
            "possible value of $<form:text>$.",
            "Nonnegative real numbers $x$ and $y$ satisfy $x + y = <s>$. How large can "
            "$<form:text>$ be at most?",
        ),
    )

    size: Ends = dial(30, 120, "largest sum", least=12, most=1000)
    hard: Ends = dial(0, 0.85, "share whose function is no parabola", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        if rng.random() >= base.steady(self.hard, difficulty):
            kind = base.chosen(rng, ("product", "fence", "profit"))
            s, k = base.whole(rng, 8, size), base.whole(rng, 2, 7)
            if kind == "product":
                half = Fraction(s, 2)
                return Drawn(
                    ask=kind,
                    values={"s": s, "k": k},
                    gold=gold.rational(k * half * half),
                    steps=f"With the first number $x$ it is $f(x) = {k}x({s} - x)$, and $f'(x) = "
                    f"{k}({s} - 2x)$ is zero at $x = {ratio_text(half)}$ only. Both numbers are "
                    f"then equal.",
                )
            if kind == "fence":
                width = Fraction(s, 2 * (k + 2))
                return Drawn(
                    ask=kind,
                    values={"s": s, "k": k},
                    gold=gold.rational(width * (s - (k + 2) * width)),
                    steps=f"There are ${k + 2}$ fences of length $x$ perpendicular to the straight "
                    f"side, so the other length is ${s} - {k + 2}x$. The area $x({s} - {k + 2}x)$ "
                    f"has the derivative ${s} - {2 * (k + 2)}x$, which is zero at $x = "
                    f"{ratio_text(width)}$; the other length is ${ratio_text(Fraction(s, 2))}$.",
                )
            q = base.whole(rng, 2, 9)
            s = k * q + base.whole(rng, 2, size)
            more = Fraction(s - k * q, 2 * k)
            return Drawn(
                ask=kind,
                values={"s": s, "k": k, "q": q},
                gold=gold.rational((q + more) * (s - k * more)),
                steps=f"With $x$ crowns more the revenue is $({q} + x)({s} - {k}x)$. Its "
                f"derivative ${s - k * q} - {2 * k}x$ is zero at $x = {ratio_text(more)}$, where "
                f"the price is ${ratio_text(q + more)}$ and ${ratio_text(s - k * more)}$ are sold.",
            )
        if rng.random() < 0.5:
            u, v, root = base.chosen(rng, _SHEETS)
            times = base.whole(rng, 2, max(2, size / 10))
            u, v, x = times * u, times * v, Fraction(times * (u + v - root), 6)
            if rng.random() < 0.5:
                u, v = v, u
            return Drawn(
                ask="box",
                values={"u": u, "v": v},
                gold=gold.rational(x * (u - 2 * x) * (v - 2 * x)),
                steps=f"With squares of side $x$ the volume is $x({u} - 2x)({v} - 2x)$. Its "
                f"derivative ${p.latex((u * v, -4 * (u + v), 12))}$ is zero at $x = "
                f"{ratio_text(x)}$ and at $x = {ratio_text(u * v / (12 * x))}$, which leaves "
                f"nothing of the shorter side. So the box measures ${ratio_text(u - 2 * x)}$ by "
                f"${ratio_text(v - 2 * x)}$ by ${ratio_text(x)}$.",
            )
        m, n = base.chosen(rng, ((1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2), (2, 4), (4, 1)))
        part = base.whole(rng, 1, 1 + size / 24)
        s, k = (m + n) * part, base.whole(rng, 2, 9)
        left, right = base.term(m, "y", first=True), base.term(n, "x", first=True)
        return Drawn(
            ask="power",
            values={"s": s, "form": f"{k}{_power('x', m)}{_power('y', n)}"},
            gold=gold.rational(k * (m * part) ** m * (n * part) ** n),
            steps=f"With $y = {s} - x$ the derivative by $x$ is ${k}{_power('x', m - 1)}"
            f"{_power('y', n - 1)}({left} - {right})$. Between the ends it is zero only where "
            f"${left} = {right}$, so at $x = {m * part}$ and $y = {n * part}$, and at the ends "
            f"the product is $0$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The function as a polynomial, its slope from quotients of differences, and its value at
        # each root of that, found by trying all fractions.
        s = values.get("s", 0)
        end = Fraction(s)
        if ask == "product":
            f, end = p.times((0, values["k"]), (s, -1)), Fraction(10**9)
        elif ask == "fence":
            f = p.times((0, 1), (s, -values["k"] - 2))
        elif ask == "profit":
            f = p.times((values["q"], 1), (s, -values["k"]))
        elif ask == "box":
            u, v = values["u"], values["v"]
            f, end = p.times((0, 1), (u, -2), (v, -2)), Fraction(min(u, v), 2)
        else:
            match = _FORM.fullmatch(values["form"])
            if match is None:
                return None
            k, m, n = (int(each or 1) for each in match.groups())
            f = p.times((k,), p.raised((0, 1), m), p.raised((s, -1), n))
        places = exact.rational_roots(exact.slopes(f))
        if places is None:
            return None
        return gold.rational(max(Fraction(p.value(f, x)) for x in places if 0 <= x <= end))


def _power(letter: str, exponent: int) -> str:
    return "" if exponent == 0 else letter if exponent == 1 else f"{letter}^{exponent}"
