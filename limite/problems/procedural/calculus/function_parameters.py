"""Parameters that make functions continuous, smooth or tangent, and points of mean slope."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class FunctionParameters(Family):
    """The number that makes a function continuous or smooth, or where a slope is the mean one."""

    name = "function-parameters"
    tag = "calculus/continuity"
    wordings = Wordings(
        continuous=(
            "Let $f(x) = <f:polynomial>$ for $x < <t>$ and $f(x) = <g:polynomial> + k$ for "
            "$x \\ge <t>$. For which number $k$ is $f$ continuous?",
            "A function is $<f:polynomial>$ for $x < <t>$ and $<g:polynomial> + k$ for "
            "$x \\ge <t>$. Find the value of $k$ that makes it continuous.",
        ),
        scaled=(
            "Let $f(x) = <f:polynomial>$ for $x \\le <t>$ and $f(x) = k(<g:polynomial>)$ for "
            "$x > <t>$. For which number $k$ is $f$ continuous?",
            "A function is $<f:polynomial>$ for $x \\le <t>$ and $k(<g:polynomial>)$ for "
            "$x > <t>$. Find the value of $k$ that makes it continuous.",
        ),
        smooth=(
            "Let $f(x) = <f:polynomial>$ for $x < <t>$ and $f(x) = ax^2 + bx$ for $x \\ge <t>$. "
            "Find the pair $(a, b)$ for which $f$ is differentiable everywhere.",
            "A function is $<f:polynomial>$ for $x < <t>$ and $ax^2 + bx$ for $x \\ge <t>$. For "
            "which pair $(a, b)$ is it differentiable at all real $x$?",
        ),
        mean=(
            "Find all numbers $c$ with $<low> < c < <high>$ for which the tangent to the graph of "
            "$f(x) = <f:polynomial>$ at $x = c$ is parallel to the line through its points at "
            "$x = <low>$ and $x = <high>$.",
            "The mean value theorem is applied to $f(x) = <f:polynomial>$ on $[<low>, <high>]$. "
            "Give the set of all $c$ in the open interval that it speaks of.",
        ),
    )

    size: Ends = dial(6, 12, "largest coefficient", least=3, most=1000)
    slopes: Ends = dial(0, 0.8, "share with derivatives", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        t = exact.nonzero(rng, 4)
        if rng.random() < base.steady(self.slopes, difficulty):
            return self._smooth(rng, t, size) if rng.random() < 0.5 else self._mean(rng, size)
        f, g = exact.some(rng, base.whole(rng, 1, 2), size), exact.some(rng, 2, size)
        at = p.value(f, t)
        if rng.random() < 0.5:
            g = p.polynomial((0, *g[1:]))
            return Drawn(
                ask="continuous",
                values={"f": f, "g": g, "t": t},
                gold=gold.rational(at - p.value(g, t)),
                steps=f"At $x = {t}$ the left part tends to ${at}$ and the right part is "
                f"${p.value(g, t)} + k$. Both must be equal.",
            )
        if p.value(g, t) in (0, 1):
            g = p.plus(g, (2,))
        other = p.value(g, t)
        return Drawn(
            ask="scaled",
            values={"f": f, "g": g, "t": t},
            gold=gold.rational(Fraction(at) / other),
            steps=f"At $x = {t}$ the left part is ${at}$, and the right part tends to "
            f"$k \\cdot {exact.factor(other)}$. Both must be equal.",
        )

    def _smooth(self, rng: random.Random, t: int, size: float) -> Drawn:
        f = exact.some(rng, base.whole(rng, 2, 3), size)
        at, slope = Fraction(p.value(f, t)), Fraction(p.value(p.derivative(f), t))
        a = (slope * t - at) / (t * t)
        b = slope - 2 * a * t
        return Drawn(
            ask="smooth",
            values={"f": f, "t": t},
            gold=gold.ordered((a, b), ("a", "b")),
            steps=f"At $x = {t}$ the left part has the value ${at}$ and the slope ${slope}$, so "
            f"${_sum(t * t, t)} = {at}$ and ${_sum(2 * t, 1)} = {slope}$. The second equation "
            f"times ${t}$, less the first, gives ${'' if t * t == 1 else t * t}a = "
            f"{slope * t - at}$.",
        )

    def _mean(self, rng: random.Random, size: float) -> Drawn:
        # x^3 + ux^2 + ... with slopes that equal the mean one where 3x^2 + 2ux = const has nice
        # roots: f' - mean = 3k (x - c)(x - d), whose integral from low to high is zero.
        low, high, c = base.chosen(rng, _MEANS)
        shift, k = base.whole(rng, -3, 3), exact.nonzero(rng, 3)
        low, high, c = low + shift, high + shift, c + shift
        # The other root d follows from the integral of (x - c)(x - d) being zero.
        above = Fraction(high**3 - low**3, 3) - c * Fraction(high**2 - low**2, 2)
        below = Fraction(high**2 - low**2, 2) - c * (high - low)
        d = above / below
        gap = p.scaled(p.times((-c, 1), (-d, 1)), k * 6)
        rise = exact.nonzero(rng, size)
        slope = p.plus(gap, (rise,))
        scale = _scale(slope)
        slope, rise = p.scaled(slope, scale), rise * scale
        f = p.polynomial(
            [base.whole(rng, 0, 9), *(Fraction(s, n + 1) for n, s in enumerate(slope))]
        )
        first, last = p.value(f, low), p.value(f, high)
        inside = sorted({Fraction(c), d})
        inside = [each for each in inside if low < each < high]
        return Drawn(
            ask="mean",
            values={"f": f, "low": low, "high": high},
            gold=gold.finite_set(inside),
            steps=f"The mean slope is $\\frac{{{last} - {exact.factor(first)}}}{{{high - low}}} = "
            f"{rise}$. The derivative ${p.latex(slope)}$ is equal to it where "
            f"${p.latex(p.minus(slope, (rise,)))} = 0$. Only roots between ${low}$ and ${high}$ "
            f"count.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        f = values["f"]
        if ask == "mean":
            # f less its chord, by slopes from quotients of differences and all possible roots.
            low, high = values["low"], values["high"]
            rise = Fraction(p.value(f, high) - p.value(f, low)) / (high - low)
            roots = exact.rational_roots(p.minus(exact.slopes(f), (rise,)))
            if roots is None:
                return None
            return gold.finite_set([root for root in roots if low < root < high])
        t = values["t"]
        if ask == "smooth":
            # f - ax^2 - bx must have a double root at t: what remains after division is zero.
            rest = p.divided(f, (t * t, -2 * t, 1))[1]
            low, rise = (*rest, 0, 0)[:2]
            # x^2 leaves 2tx - t^2, and x leaves x.
            a = Fraction(-low, t * t)
            return gold.ordered((a, rise - 2 * t * a), ("a", "b"))
        left = p.divided(f, (-t, 1))[1]
        right = p.divided(values["g"], (-t, 1))[1]
        one, other = (left or (0,))[0], (right or (0,))[0]
        if ask == "continuous":
            return gold.rational(one - other)
        return gold.rational(Fraction(one) / other) if other else None


_MEANS = ((0, 3, 1), (0, 3, 2), (0, 4, 1), (0, 4, 3), (0, 6, 1), (0, 6, 2), (0, 6, 4), (-1, 2, 1))


def _scale(terms: p.Polynomial) -> int:
    """The smallest number that makes all coefficients of the antiderivative whole."""
    scale = 1
    for power, coefficient in enumerate(terms):
        part = Fraction(coefficient) / (power + 1) * scale
        scale *= part.denominator
    return scale


def _sum(first: int, second: int) -> str:
    left, right = base.term(first, "a", first=True), base.term(abs(second), "b", first=True)
    return f"{left} {'-' if second < 0 else '+'} {right}"
