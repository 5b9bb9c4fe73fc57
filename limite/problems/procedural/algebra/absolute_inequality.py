"""Inequalities with absolute values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, intervals
from limite.problems.procedural.algebra.writing import linear, nonzero, read_linear
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.intervals import HIGH, LOW, Piece
from limite.problems.procedural.polynomials import Number
from limite.problems.procedural.wording import Wordings, ratio_text

_SIGNS = ("<", "\\le", ">", "\\ge")


@attrs.frozen(kw_only=True)
class AbsoluteInequality(Family):
    """Where an absolute value is above or below a number or another one, as intervals."""

    name = "absolute-inequality"
    tag = "algebra/absolute-values"
    wordings = Wordings(
        against=(
            "Solve $|<inside:text>| <sign:text> |<second:text>|$ over the real numbers. Answer "
            "with an interval or a union of intervals.",
            "For which real $x$ is $|<inside:text>| <sign:text> |<second:text>|$? Write the "
            "solution set as an interval or a union of intervals.",
        ),
        sum=(
            "Solve $|<inside:text>| + |<second:text>| <sign:text> <right>$ over the real numbers. "
            "Answer with an interval or a union of intervals.",
            "For which real $x$ is $|<inside:text>| + |<second:text>| <sign:text> <right>$? Write "
            "the solution set as an interval or a union of intervals.",
        ),
        one=(
            "Solve $|<inside:text>| <sign:text> <right>$ over the real numbers. Answer with an "
            "interval or a union of intervals.",
            "Find all real $x$ with $|<inside:text>| <sign:text> <right>$, as an interval or a "
            "union of intervals.",
        ),
    )

    size: Ends = dial(6, 15, "largest number drawn", least=3, most=200)
    slope: Ends = dial(2, 6, "largest coefficient of x", least=2, most=20)
    harder: Ends = dial(0, 1, "share with two absolute values", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a = base.whole(rng, 2, base.steady(self.slope, difficulty))
        b, sign = nonzero(rng, size), base.chosen(rng, _SIGNS)
        harder = rng.random() < base.steady(self.harder, difficulty)
        first = linear([a], "x", b)
        if not harder:
            right = base.whole(rng, 1, size)
            low, high = Fraction(-right - b, a), Fraction(right - b, a)
            chain = f"{-right} {sign} {first} {sign} {right}"
            if sign in (">", "\\ge"):
                less = "<" if sign == ">" else "\\le"
                steps = f"This means ${first} {sign} {right}$ or ${first} {less} {-right}$"
            else:
                steps = f"This means ${chain}$"
            return Drawn(
                ask="one",
                values={"inside": first, "sign": sign, "right": right},
                gold=_between(low, high, sign),
                steps=f"{steps}. {'Subtracting' if b > 0 else 'Adding'} ${abs(b)}$ gives the "
                f"bounds ${-right - b}$ and ${right - b}$ for ${linear([a], 'x')}$.",
            )
        if rng.random() < 0.5:
            p, q = sorted(base.distinct(rng, 2, -int(size), int(size)))
            right = q - p + base.whole(rng, 1, size)
            low, high = Fraction(p + q - right, 2 * a), Fraction(p + q + right, 2 * a)
            return Drawn(
                ask="sum",
                values={
                    "inside": linear([a], "x", -p),
                    "second": linear([a], "x", -q),
                    "sign": sign,
                    "right": right,
                },
                gold=_between(low, high, sign),
                steps=f"Where ${linear([a], 'x')}$ lies between ${p}$ and ${q}$, the sum is "
                f"${q - p}$, less than ${right}$; outside it grows. It equals ${right}$ where "
                f"${linear([2 * a], 'x', -p - q)} = \\pm {right}$, at $x = {ratio_text(low)}$ and "
                f"$x = {ratio_text(high)}$.",
            )
        c, d = base.whole(rng, 1, 3), nonzero(rng, size)
        c = a + c  # the second grows faster
        if a * d == b * c:
            d += 1 if d != -1 else 2
        ends = sorted((Fraction(d - b, a - c), Fraction(-d - b, a + c)))
        turned = {"<": ">", "\\le": "\\ge", ">": "<", "\\ge": "\\le"}
        return Drawn(
            ask="against",
            values={"inside": first, "second": linear([c], "x", d), "sign": sign},
            gold=_between(ends[0], ends[1], turned[sign]),
            steps=f"Both sides are equal where ${first} = {linear([c], 'x', d)}$ or ${first} = "
            f"{linear([-c], 'x', -d)}$, at $x = {ratio_text(ends[0])}$ and "
            f"$x = {ratio_text(ends[1])}$. For large $|x|$ the right side is larger, as "
            f"${c} > {a}$; between the two points, where ${linear([c], 'x', d)}$ has its zero, the "
            "left side is larger.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Where both sides may be equal, by every choice of signs; then a point in every gap.
        (a,), b = read_linear(values["inside"], "x")
        (c,), d = read_linear(values["second"], "x") if "second" in values else ([0], 0)
        right, sign = values.get("right", 0), values["sign"]
        times = 1 if ask == "sum" else -1
        breaks = []
        for one in (1, -1):
            for other in (1, -1):
                slope, constant = one * a + other * c, one * b + other * d - right
                if slope:
                    breaks.append(Fraction(-constant, slope))

        def holds(x: Number) -> bool:
            found = _size(a * x + b) + times * _size(c * x + d) - right
            if not found:
                return sign in ("\\le", "\\ge")
            return bool(found < 0) == (sign in ("<", "\\le"))

        return intervals.where(breaks, holds)


def _size(value: Number) -> Number:
    return -value if value < 0 else value


def _between(low: Fraction, high: Fraction, sign: str) -> Gold:
    """What lies between two points for < and at most, outside for the others."""
    closed = sign in ("\\le", "\\ge")
    first, second = intervals.end(low), intervals.end(high)
    pieces: list[Piece] = [(first, closed, second, closed)]
    if sign in (">", "\\ge"):
        pieces = [(LOW, False, first, closed), (second, closed, HIGH, False)]
    return intervals.union(pieces)
