"""Integrals over unbounded intervals, and of exponentials, sines and roots."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class ImproperIntegral(Family):
    """An integral over an unbounded interval, or of a function with sines or exponentials."""

    name = "improper-integral"
    tag = "calculus/integrals"
    wordings = Wordings(
        tail=(
            "Compute $\\int_{<low>}^{\\infty} \\frac{<c>}{(x + <a>)^<n>}\\,dx$.",
            "Find the area under the graph of $y = \\frac{<c>}{(x + <a>)^<n>}$ for all "
            "$x \\ge <low>$.",
        ),
        exponential=(
            "Compute $\\int_0^{\\ln <m>} <c>e^{<a>x}\\,dx$, where $\\ln$ is the natural logarithm.",
            "Find the area under the graph of $y = <c>e^{<a>x}$ from $x = 0$ to $x = \\ln <m>$, "
            "the natural logarithm of $<m>$.",
        ),
        root=(
            "Compute $\\int_0^{<m>} \\frac{<c>}{\\sqrt{x}}\\,dx$ exactly.",
            "What is the exact value of the improper integral "
            "$\\int_0^{<m>} \\frac{<c>}{\\sqrt{x}}\\,dx$?",
        ),
        gamma=(
            "Compute $\\int_0^{\\infty} <c>x^<n> e^{-<a>x}\\,dx$.",
            "Find the value of the improper integral $\\int_0^{\\infty} <c>x^<n> e^{-<a>x}\\,dx$.",
        ),
        arctangent=(
            "Compute $\\int_{-\\infty}^{\\infty} \\frac{<c>}{x^2 + <m>}\\,dx$ exactly.",
            "Find the exact area between the graph of $y = \\frac{<c>}{x^2 + <m>}$ and the "
            "$x$-axis.",
        ),
        waves=(
            "Compute $\\int_0^{\\pi} <c>x\\sin(<a>x)\\,dx$ exactly.",
            "What is the exact value of $\\int_0^{\\pi} <c>x\\sin(<a>x)\\,dx$?",
        ),
    )

    size: Ends = dial(9, 20, "largest number", least=4, most=60)
    hard: Ends = dial(0, 0.8, "share that needs parts or an inverse function", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        c, a, n = base.whole(rng, 2, size), base.whole(rng, 2, 6), base.whole(rng, 2, 5)
        values = {"a": a, "c": c, "n": n, "m": base.whole(rng, 2, 2 * size)}
        if rng.random() < base.steady(self.hard, difficulty):
            return self._hard(rng, values)
        kind = base.chosen(rng, ("tail", "exponential", "root"))
        if kind == "tail":
            low = base.whole(rng, 0, 4)
            power = n - 1
            whole = power * (low + a) ** power
            below = f"x + {a}" if power == 1 else f"{power}(x + {a})^{power}"
            return Drawn(
                ask=kind,
                values={**values, "low": low},
                gold=gold.rational(Fraction(c, whole)),
                steps=f"An antiderivative is $-\\frac{{{c}}}{{{below}}}$. It tends to $0$ at "
                f"infinity, and at $x = {low}$ it is $-\\frac{{{c}}}{{{whole}}}$.",
            )
        m = values["m"]
        if kind == "exponential":
            m = values["m"] = base.whole(rng, 2, 7)
            factor = "" if c == a else ratio_text(Fraction(c, a))
            return Drawn(
                ask=kind,
                values=values,
                gold=gold.rational(Fraction(c * (m**a - 1), a)),
                steps=f"An antiderivative is ${factor}e^{{{a}x}}$. At $\\ln {m}$ the "
                f"exponential is ${m}^{a} = {m**a}$, at $0$ it is $1$.",
            )
        return Drawn(
            ask=kind,
            values=values,
            gold=surds.said(surds.times(surds.root(m), 2 * c)),
            steps=f"An antiderivative is ${2 * c}\\sqrt{{x}}$, which tends to $0$ at $0$ and is "
            f"${2 * c}\\sqrt{{{m}}}$ at ${m}$.",
        )

    def _hard(self, rng: random.Random, values: dict[str, int]) -> Drawn:
        c, a, n, m = (values[name] for name in "canm")
        kind = base.chosen(rng, ("gamma", "arctangent", "waves"))
        if kind == "gamma":
            part = Fraction(math.factorial(n), a ** (n + 1))
            found = gold.rational(c * part)
            steps = (
                f"By parts the integral of $x^k e^{{-{a}x}}$ is $\\frac{{k}}{{{a}}}$ times that of "
                f"$x^{{k - 1}} e^{{-{a}x}}$, and that of $e^{{-{a}x}}$ is $\\frac{{1}}{{{a}}}$. So "
                f"${c}$ is multiplied by $\\frac{{{n}!}}{{{a}^{n + 1}}} = {ratio_text(part)}$."
            )
        elif kind == "arctangent":
            found = _with_pi(surds.times(surds.root(m), Fraction(c, m)))
            steps = (
                f"With $x = \\sqrt{{{m}}}t$ the integrand becomes "
                f"$\\frac{{{c}}}{{\\sqrt{{{m}}}}} \\cdot \\frac{{1}}{{t^2 + 1}}$ with respect to "
                f"$t$. The arctangent, an antiderivative of the last part, grows by $\\pi$ in all."
            )
        else:
            sign = "" if a % 2 else "-"
            found = surds.said({surds.PI: Fraction(c if a % 2 else -c, a)})
            steps = (
                f"By parts an antiderivative of $x\\sin({a}x)$ is $-\\frac{{x\\cos({a}x)}}{{{a}}} "
                f"+ \\frac{{\\sin({a}x)}}{{{a * a}}}$. At $0$ it is $0$. At $\\pi$ the cosine is "
                f"${-1 if a % 2 else 1}$ and the sine $0$, so it is ${sign}\\frac{{\\pi}}{{{a}}}$. "
                f"Multiply by ${c}$."
            )
        return Drawn(ask=kind, values=values, gold=found, steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        c = values["c"]
        if ask == "tail":  # x + a = b : t makes it an integral of a power of t from 0 to 1
            start, n = values["low"] + values["a"], values["n"]
            area = exact.area(lambda t: t ** (n - 2), 0, 1) if 2 <= n <= 7 else Fraction(0)
            return gold.rational(c * area / start ** (n - 1)) if area else None
        if ask == "exponential":  # t = e^x makes it an integral of a power of t from 1 to m
            a = values["a"]
            return gold.rational(c * exact.area(lambda t: t ** (a - 1), 1, values["m"]))
        if ask == "root":  # x = t^2 makes it an integral of a constant, over the root of m
            area = exact.area(lambda _: 2 * c, 0, 1)
            return surds.said(surds.times(surds.root(values["m"]), area))
        # Measured in doubles, and the one fraction near by with the denominator that it can have.
        if ask == "gamma":  # with x = e^t, where sums converge fast
            a, n, step = values["a"], values["n"], 0.1
            places = [math.exp(k * step) for k in range(-200, 60)]
            total = sum(x ** (n + 1) * math.exp(-a * x) for x in places)
            factor = _near(c * total * step, a ** (n + 1))
            return None if factor is None else gold.rational(factor)
        if ask == "arctangent":  # with x = sinh t, where sums converge fast
            m, step = values["m"], 0.05
            total = sum(
                math.cosh(k * step) / (math.sinh(k * step) ** 2 + m) for k in range(-800, 801)
            )
            square = _near((c * total * step / math.pi) ** 2, m)
            return None if square is None else _with_pi(surds.root(square))
        a = values["a"]
        factor = _near(_simpson(lambda x: c * x * math.sin(a * x), math.pi) / math.pi, a)
        return None if factor is None else surds.said({surds.PI: factor})


def _with_pi(surd: surds.Surd) -> Gold:
    """The number of one root, times pi."""
    ((under, factor),) = surd.items()
    factor = Fraction(factor)
    root = "" if under == 1 else f"\\sqrt{{{under}}}"
    above = f"{'' if factor.numerator == 1 else factor.numerator}{root}\\pi"
    return gold.expression(
        f"{factor}*pi*sqrt({under})",
        above if factor.denominator == 1 else f"\\frac{{{above}}}{{{factor.denominator}}}",
    )


def _near(measured: float, below: int) -> Fraction | None:
    """The fraction with this denominator that a measured number is near to."""
    above = round(measured * below)
    close = abs(measured * below - above) < 1e-6 * max(1.0, abs(above))
    return Fraction(above, below) if close else None


def _simpson(height: Callable[[float], float], end: float) -> float:
    count = 400
    inner = sum((4 if k % 2 else 2) * height(end * k / count) for k in range(1, count))
    return end / (3 * count) * (height(0.0) + inner + height(end))
