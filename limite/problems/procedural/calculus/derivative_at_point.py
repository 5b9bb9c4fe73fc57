"""Values of derivatives at a point: of given functions, and from tables of values."""

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

_TABLE = (
    "Two differentiable functions have the values $f(<t>) = <f>$, $f'(<t>) = <df>$, "
    "$g(<t>) = <g>$ and $g'(<t>) = <dg>$. "
)
_Local = tuple[Fraction | int, Fraction | int]


@attrs.frozen(kw_only=True)
class DerivativeAtPoint(Family):
    """The value of a derivative at a point, by the rules for products, quotients and chains."""

    name = "derivative-at-point"
    tag = "calculus/derivatives"
    wordings = Wordings(
        polynomial=(
            "Let $f(x) = <p:polynomial>$. Find $f'(<t>)$.",
            "What is the slope of the graph of $y = <p:polynomial>$ at $x = <t>$?",
            "A body moves along a line and is $s(x) = <p:polynomial>$ metres from its starting "
            "point after $x$ seconds. Find its velocity at $x = <t>$, in metres per second.",
        ),
        quotient=(
            "Let $f(x) = \\frac{<p:polynomial>}{<q:polynomial>}$. Find $f'(<t>)$.",
            "What is the slope of the graph of $y = \\frac{<p:polynomial>}{<q:polynomial>}$ at "
            "$x = <t>$?",
        ),
        product=(
            _TABLE + "Let $h(x) = f(x)g(x)$. Find $h'(<t>)$.",
            _TABLE + "What is the derivative of the product $f \\cdot g$ at $<t>$?",
        ),
        ratio=(
            _TABLE + "Let $h(x) = \\frac{f(x)}{g(x)}$. Find $h'(<t>)$.",
            _TABLE + "What is the derivative of the quotient $\\frac{f}{g}$ at $<t>$?",
        ),
        chain=(
            "Two differentiable functions have the values $g(<t>) = <g>$, $g'(<t>) = <dg>$, "
            "$f(<g>) = <f>$ and $f'(<g>) = <df>$. Let $h(x) = <n>f(g(x))^2$. Find $h'(<t>)$.",
            "Let $h(x) = <n>f(g(x))^2$, where $g(<t>) = <g>$, $g'(<t>) = <dg>$, $f(<g>) = <f>$ and "
            "$f'(<g>) = <df>$. What is $h'(<t>)$?",
        ),
    )

    size: Ends = dial(5, 12, "largest number", least=3, most=1000)
    rules: Ends = dial(0, 0.9, "share that is no plain polynomial", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        t = base.whole(rng, 1, 3 + size / 4)
        if rng.random() >= base.steady(self.rules, difficulty):
            terms = exact.some(rng, base.whole(rng, 2, 2 + size / 6), size)
            inner = p.derivative(terms)
            return Drawn(
                ask="polynomial",
                values={"p": terms, "t": t},
                gold=gold.rational(p.value(inner, t)),
                steps=f"The derivative is ${p.latex(inner)}$. Put ${t}$ in place of $x$.",
            )
        kind = base.chosen(rng, ("quotient", "product", "ratio", "chain"))
        if kind == "quotient":
            top, bottom = exact.some(rng, 2, size), exact.some(rng, base.whole(rng, 1, 2), size)
            if not p.value(bottom, t):
                bottom = p.plus(bottom, (1 if bottom[0] != -1 else 2,))
            a, b = p.value(top, t), p.value(p.derivative(top), t)
            c, d = p.value(bottom, t), p.value(p.derivative(bottom), t)
            return Drawn(
                ask=kind,
                values={"p": top, "q": bottom, "t": t},
                gold=gold.rational(Fraction(b * c - a * d) / (c * c)),
                steps=f"At ${t}$ the numerator is ${a}$ with slope ${b}$, and the denominator "
                f"${c}$ with slope ${d}$. By the quotient rule the slope is $\\frac{{{b} \\cdot "
                f"{exact.factor(c)} - {exact.factor(a)} \\cdot {exact.factor(d)}}}"
                f"{{{exact.factor(c)}^2}} = {_fraction(b * c - a * d, c * c)}$.",
            )
        f, df, g, dg = (exact.nonzero(rng, size) for _ in range(4))
        values = {"t": t, "f": f, "df": df, "g": g, "dg": dg}
        one, two, three, four = (exact.factor(each) for each in (f, df, g, dg))
        if kind == "product":
            return Drawn(
                ask=kind,
                values=values,
                gold=gold.rational(df * g + f * dg),
                steps=f"By the product rule $h' = f'g + fg'$, here ${df} \\cdot {three} + {one} "
                f"\\cdot {four}$.",
            )
        if kind == "ratio":
            above = df * g - f * dg
            return Drawn(
                ask=kind,
                values=values,
                gold=gold.rational(Fraction(above, g * g)),
                steps=f"By the quotient rule $h' = \\frac{{f'g - fg'}}{{g^2}}$, here "
                f"$\\frac{{{df} \\cdot {three} - {one} \\cdot {four}}}{{{three}^2}} = "
                f"{_fraction(above, g * g)}$.",
            )
        n = base.whole(rng, 2, 5)
        return Drawn(
            ask=kind,
            values={**values, "n": n},
            gold=gold.rational(2 * n * f * df * dg),
            steps=f"By the chain rule $h'(x) = {2 * n}f(g(x))f'(g(x))g'(x)$, here ${2 * n} \\cdot "
            f"{one} \\cdot {two} \\cdot {four}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # With u + vh in place of functions near the point, and h^2 left out.
        t = values["t"]
        if ask in ("polynomial", "quotient"):
            local = _at(values["p"], t)
            if ask == "quotient":
                local = _over(local, _at(values["q"], t))
            return gold.rational(local[1])
        first, second = (values["f"], values["df"]), (values["g"], values["dg"])
        if ask == "product":
            return gold.rational(_times(first, second)[1])
        if ask == "ratio":
            return gold.rational(_over(first, second)[1])
        inner = (values["f"], values["df"] * values["dg"])  # f(g + dg h) = f + df dg h
        return gold.rational(_times((values["n"], 0), _times(inner, inner))[1])


def _fraction(above: p.Number, below: p.Number) -> str:
    """Not reduced; a whole number over 1 by itself."""
    return str(above) if below == 1 else f"\\frac{{{above}}}{{{below}}}"


def _at(terms: p.Polynomial, t: int) -> _Local:
    total: _Local = (0, 0)
    for coefficient in reversed(terms):
        value, slope = _times(total, (t, 1))
        total = (value + coefficient, slope)
    return total


def _times(left: _Local, right: _Local) -> _Local:
    return left[0] * right[0], left[0] * right[1] + left[1] * right[0]


def _over(left: _Local, right: _Local) -> _Local:
    """What times ``right`` is ``left``."""
    value = Fraction(left[0]) / right[0]
    return value, (left[1] - value * right[1]) / Fraction(right[0])
