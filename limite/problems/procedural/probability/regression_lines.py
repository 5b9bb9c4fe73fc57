"""The straight line that fits points best."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.core.types import Answer
from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.probability.roots import signed_root
from limite.problems.procedural.wording import Wordings, ratio_text

_FIT = "the line that fits the points $<points:text>$ best, with the least sum of squared vertical "
_FIT += "distances"


@attrs.frozen(kw_only=True)
class RegressionLines(Family):
    """The least-squares line of some points, its slope, a forecast, and the correlation."""

    name = "regression-lines"
    tag = "probability/regression"
    wordings = Wordings(
        slope=(
            f"Find the slope of {_FIT}.",
            "What is the slope of the least-squares regression line of $y$ on $x$ for the points "
            "$(x, y)$: $<points:text>$?",
        ),
        line=(
            f"Find an equation in $x$ and $y$ of {_FIT}.",
            "Find an equation in $x$ and $y$ of the least-squares regression line of $y$ on $x$ "
            "for the points $(x, y)$: $<points:text>$.",
        ),
        forecast=(f"Which value of $y$ does {_FIT}, give for $x = <at>$?",),
        correlation=(
            "Find the exact correlation coefficient (Pearson's) of $x$ and $y$ for the points "
            "$(x, y)$: $<points:text>$.",
        ),
    )

    count: Ends = dial(3, 6, "how many points", least=3, most=15)
    most: Ends = dial(5, 15, "largest coordinate", least=5, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        most = max(base.steady(self.most, difficulty), count + 1.0)
        ask = base.rising(rng, ("slope", "forecast", "line", "correlation"), difficulty)
        xs = sorted(base.distinct(rng, count, 0, int(most)))
        ys = [base.whole(rng, 1, most) for _ in xs]
        if rng.random() < 0.7:  # a whole mean is easier
            ys[0] += -sum(ys) % count
        if _products(xs, ys) == 0:
            ys[-1] += count
            if _products(xs, ys) == 0:
                ys[-1] += count
        mean_x, mean_y = Fraction(sum(xs), count), Fraction(sum(ys), count)
        at = base.whole(rng, 1, 2 * most)
        # n times the sums of squares and products of deviations, whole numbers.
        spread, both = _products(xs, xs), _products(xs, ys)
        slope = Fraction(both, spread)
        start = mean_y - slope * mean_x
        values = {
            "points": ", ".join(f"({x}, {y})" for x, y in zip(xs, ys, strict=True)),
            "at": at,
        }
        steps = (
            f"The means are $\\bar x = {ratio_text(mean_x)}$ and $\\bar y = {ratio_text(mean_y)}$. "
            f"The products of the deviations from them add up to "
            f"${ratio_text(Fraction(both, count))}$, the squares of those of $x$ to "
            f"${ratio_text(Fraction(spread, count))}$."
        )
        found = gold.rational(slope)
        if ask == "correlation":
            other = _products(ys, ys)
            steps += (
                f" The squares of those of $y$ add up to ${ratio_text(Fraction(other, count))}$. "
                f"The correlation is the first sum divided by the square root of the product of "
                f"the others, so its square is ${ratio_text(Fraction(both * both, spread * other))}"
                f"$, and it is {'positive' if both > 0 else 'negative'}."
            )
            found = signed_root(Fraction(both * both, spread * other), 1 if both > 0 else -1)
        elif ask == "slope":
            steps += " The slope is the ratio of the two."
        else:
            steps += (
                f" The slope is the ratio of the two, ${ratio_text(slope)}$, and the line goes "
                f"through the point of the means: it meets the $y$-axis at ${ratio_text(mean_y)} - "
                f"{_factor(slope)} \\cdot {_factor(mean_x)} = {ratio_text(start)}$."
            )
            if ask == "line":
                found = _equation(slope, start)
            else:
                found = gold.rational(slope * at + start)
                steps += f" At ${at}$ it has the height ${at} \\cdot {_factor(slope)} "
                steps += f"{'-' if start < 0 else '+'} {ratio_text(abs(start))}$."
        return Drawn(ask=ask, values=values, gold=found, steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From the normal equations in sums of the coordinates themselves, by determinants.
        points = [
            (int(x), int(y)) for x, y in re.findall(r"\((-?\d+), (-?\d+)\)", values["points"])
        ]
        count = len(points)
        sum_x, sum_y = sum(x for x, _ in points), sum(y for _, y in points)
        square_x = sum(x * x for x, _ in points)
        product = sum(x * y for x, y in points)
        below = count * square_x - sum_x * sum_x
        if not below:
            return None
        top = count * product - sum_x * sum_y
        rise = Fraction(square_x * sum_y - sum_x * product, below)
        slope = Fraction(top, below)
        if ask == "slope":
            return gold.rational(slope)
        if ask == "line":
            return _equation(slope, rise)
        if ask == "forecast":
            return gold.rational(slope * values["at"] + rise)
        # The two regression lines, of y on x and of x on y: their slopes multiply to the square.
        other = count * sum(y * y for _, y in points) - sum_y * sum_y
        if not other:
            return None
        return signed_root(slope * Fraction(top, other), 1 if top > 0 else -1)


def _products(first: list[int], second: list[int]) -> int:
    """By all pairs of points: the number of points times the sum of products of deviations."""
    return sum(
        (first[i] - first[j]) * (second[i] - second[j]) for i in range(len(first)) for j in range(i)
    )


def _factor(value: Fraction) -> str:
    text = ratio_text(value)
    return f"\\left({text}\\right)" if value < 0 else text


def _equation(slope: Fraction, start: Fraction) -> Gold:
    below = math.lcm(slope.denominator, start.denominator)
    a, c = int(slope * below), int(start * below)
    left = "y" if below == 1 else f"{below}*y"
    right = {1: "x", -1: "-x", 0: ""}.get(a, f"{a}*x")
    right += f"{c:+d}" if a and c else str(c) if c or not a else ""
    size = {1: "", -1: "-"}.get(a if below == 1 else 0, ratio_text(slope))
    tail = f" {'-' if start < 0 else '+'} {ratio_text(abs(start))}" if start else ""
    return Gold(
        Answer(type="equation", value=f"{left}={right}", params={"variables": ["x", "y"]}),
        f"y = {size}x{tail}",
    )
