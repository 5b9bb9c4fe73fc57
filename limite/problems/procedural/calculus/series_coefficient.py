"""Coefficients of power series."""

from __future__ import annotations

import math
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
from limite.problems.procedural.polynomials import Polynomial
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class SeriesCoefficient(Family):
    """A coefficient of the Maclaurin series of a function, times a polynomial."""

    name = "series-coefficient"
    tag = "calculus/series"
    wordings = Wordings(
        exponential=(
            "Find the coefficient of $x^<n>$ in the Maclaurin series of "
            "$(<f:polynomial>)e^{<a>x}$.",
            "Expand $(<f:polynomial>)e^{<a>x}$ in powers of $x$. What is the coefficient of "
            "$x^<n>$?",
        ),
        geometric=(
            "Find the coefficient of $x^<n>$ in the Maclaurin series of "
            "$\\frac{<f:polynomial>}{1 - <a>x}$.",
            "Expand $\\frac{<f:polynomial>}{1 - <a>x}$ in powers of $x$. What is the coefficient "
            "of $x^<n>$?",
        ),
        logarithm=(
            "Find the coefficient of $x^<n>$ in the Maclaurin series of "
            "$(<f:polynomial>)\\ln(1 + <a>x)$, where $\\ln$ is the natural logarithm.",
            "Expand $(<f:polynomial>)\\ln(1 + <a>x)$, with the natural logarithm, in powers of "
            "$x$. What is the coefficient of $x^<n>$?",
        ),
        sine=(
            "Find the coefficient of $x^<n>$ in the Maclaurin series of "
            "$(<f:polynomial>)\\sin(<a>x)$.",
            "Expand $(<f:polynomial>)\\sin(<a>x)$ in powers of $x$. What is the coefficient of "
            "$x^<n>$?",
        ),
        square=(
            "Find the coefficient of $x^<n>$ in the Maclaurin series of "
            "$\\frac{<f:polynomial>}{(1 - <a>x)^2}$.",
            "Expand $\\frac{<f:polynomial>}{(1 - <a>x)^2}$ in powers of $x$. What is the "
            "coefficient of $x^<n>$?",
        ),
    )

    power: Ends = dial(2, 7, "which power of x", least=2, most=9)
    terms: Ends = dial(2, 4, "how many terms the polynomial has", least=2, most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        n = base.whole_near(rng, base.steady(self.power, difficulty))
        count = base.whole_near(rng, base.steady(self.terms, difficulty))
        kind = base.chosen(rng, ("exponential", "geometric", "logarithm", "sine", "square"))
        a = base.whole(rng, 2, 5)
        f = p.polynomial([exact.nonzero(rng, 6) for _ in range(count)])
        parts = [(k, f[k], _known(kind, a, n - k)) for k in range(min(count, n + 1))]
        total = sum((Fraction(c) * known for _, c, known in parts), Fraction(0))
        series = {
            "exponential": f"e^{{{a}x}}",
            "geometric": f"\\frac{{1}}{{1 - {a}x}}",
            "logarithm": f"\\ln(1 + {a}x)",
            "sine": f"\\sin({a}x)",
            "square": f"\\frac{{1}}{{(1 - {a}x)^2}}",
        }[kind]
        law = {
            "exponential": f"\\frac{{{a}^k}}{{k!}}",
            "geometric": f"{a}^k",
            "logarithm": f"(-1)^{{k + 1}}\\frac{{{a}^k}}{{k}}",
            "sine": f"(-1)^{{\\frac{{k - 1}}{{2}}}}\\frac{{{a}^k}}{{k!}}",
            "square": f"(k + 1){a}^k",
        }[kind]
        limits = {"sine": " for odd $k$ and $0$ for even $k$", "logarithm": " for $k > 0$"}
        said = " and ".join(
            f"${exact.factor(c)} \\cdot {exact.factor(known)}$" for _, c, known in parts
        )
        steps = f"In ${series}$ the coefficient of $x^k$ is ${law}${limits.get(kind, '')}. "
        steps += (
            f"Each term $cx^j$ of the polynomial takes the coefficient with $k = {n} - j$: the "
            f"products, from $j = 0$ on, are {said}, and their sum is the coefficient."
        )
        return Drawn(
            ask=kind, values={"n": n, "a": a, "f": f}, gold=gold.rational(total), steps=steps
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Term by term from a differential equation, or by long division.
        n, a, f = values["n"], values["a"], values["f"]
        if ask in ("geometric", "square"):
            below: Polynomial = (1, -a) if ask == "geometric" else (1, -2 * a, a * a)
            rest = [Fraction(f[k]) if k < len(f) else Fraction(0) for k in range(n + 1)]
            for k in range(n + 1):  # rest[k] is the next coefficient
                for j in range(1, len(below)):
                    if k + j <= n:
                        rest[k + j] -= rest[k] * below[j]
            return gold.rational(rest[n])
        series = [Fraction(1 if ask == "exponential" else 0)]
        if ask == "exponential":  # y' = ay
            for k in range(n):
                series.append(a * series[k] / (k + 1))
        elif ask == "logarithm":  # (1 + ax) y' = a
            for k in range(n):
                series.append(((a if k == 0 else 0) - a * k * series[k]) / Fraction(k + 1))
        else:  # y'' = -a^2 y
            series.append(Fraction(a))
            for k in range(n - 1):
                series.append(-a * a * series[k] / ((k + 1) * (k + 2)))
        return gold.rational(
            sum((f[k] * series[n - k] for k in range(min(len(f), n + 1))), Fraction(0))
        )


def _known(kind: str, a: int, k: int) -> Fraction:
    """The coefficient of x^k of a function without the polynomial."""
    if kind == "exponential":
        return Fraction(a**k, math.factorial(k))
    if kind == "geometric":
        return Fraction(a**k)
    if kind == "logarithm":
        return Fraction(-((-a) ** k), k) if k else Fraction(0)
    if kind == "sine":
        return Fraction((-1) ** (k // 2) * a**k, math.factorial(k)) if k % 2 else Fraction(0)
    return Fraction((k + 1) * a**k)
