"""Derivatives of quotients, exponentials, logarithms and roots."""

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
class DerivativeRules(Family):
    """The derivative of a quotient, of a logarithm, or of a polynomial times an exponential."""

    name = "derivative-rules"
    tag = "calculus/derivatives"
    wordings = Wordings(
        exponential=(
            "Find the derivative of $f(x) = (<f:polynomial>)e^{<a>x}$.",
            "Differentiate $(<f:polynomial>)e^{<a>x}$ with respect to $x$.",
        ),
        logarithm=(
            "Find the derivative of $f(x) = \\ln(<f:polynomial>)$, where $\\ln$ is the natural "
            "logarithm.",
            "Differentiate $\\ln(<f:polynomial>)$, the natural logarithm, with respect to $x$.",
        ),
        quotient=(
            "Find the derivative of $f(x) = \\frac{<f:polynomial>}{<g:polynomial>}$.",
            "Differentiate $\\frac{<f:polynomial>}{<g:polynomial>}$ with respect to $x$.",
        ),
    )

    degree: Ends = dial(1, 3, "highest power of a polynomial", least=1, most=5)
    size: Ends = dial(6, 9, "largest coefficient", least=2, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        degree = base.whole_near(rng, base.steady(self.degree, difficulty))
        size = base.steady(self.size, difficulty)
        kind = base.chosen(rng, ("exponential", "logarithm", "quotient"))
        if kind == "exponential":
            f, a = exact.some(rng, degree, size), base.whole(rng, 2, 5)
            a = -a if rng.random() < 0.4 else a
            inner = p.derivative(f)
            found = p.plus(inner, p.scaled(f, a))
            return Drawn(
                ask=kind,
                values={"f": f, "a": a},
                gold=exact.times_exponential(found, a),
                steps=f"The polynomial has the derivative ${p.latex(inner)}$, and $e^{{{a}x}}$ has "
                f"${a}e^{{{a}x}}$. By the product rule the factor of $e^{{{a}x}}$ is the sum of "
                f"${p.latex(inner)}$ and ${a}({p.latex(f)})$.",
            )
        if kind == "logarithm":
            f = exact.some(rng, degree + 1, size)
            f = (base.whole(rng, 1, size), *f[1:-1], base.whole(rng, 1, size))
            inner = p.derivative(f)
            return Drawn(
                ask=kind,
                values={"f": f},
                gold=_quotient(inner, f),
                steps=f"By the chain rule the derivative of the logarithm is the derivative of "
                f"${p.latex(f)}$ over ${p.latex(f)}$ itself. The derivative of what stands inside "
                f"is ${p.latex(inner)}$.",
            )
        f = exact.some(rng, max(degree - 1, 1), size)
        g = exact.some(rng, max(degree - 1, 1), size)
        while not p.minus(p.times(p.derivative(f), g), p.times(f, p.derivative(g))):
            f = p.plus(f, (1,))
        above, below = p.derivative(f), p.derivative(g)
        found = p.minus(p.times(above, g), p.times(f, below))
        return Drawn(
            ask=kind,
            values={"f": f, "g": g},
            gold=_quotient(found, g, 2),
            steps=f"The numerator has the derivative ${p.latex(above)}$, the denominator "
            f"${p.latex(below)}$. By the quotient rule the new numerator is $({p.latex(above)})"
            f"({p.latex(g)}) - ({p.latex(f)})({p.latex(below)}) = {p.latex(found)}$, over the "
            f"square of the denominator.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        f: Polynomial = values["f"]
        if ask == "exponential":
            # By power series: that of f, term by term, times that of the inverse exponential.
            a, count = values["a"], len(f) + 1
            whole = _product(list(f), [Fraction(a**n, math.factorial(n)) for n in range(count + 1)])
            slopes = [n * whole[n] for n in range(1, count + 1)]
            back = [Fraction((-a) ** n, math.factorial(n)) for n in range(count)]
            found = p.polynomial(_product(slopes, back)[: len(f)])
            return exact.times_exponential(found, a)
        if ask == "logarithm":
            return _quotient(exact.slopes(f), f)
        # (f/g)'(t) is (f(x)g(t) - f(t)g(x)) : (x - t) at x = t, over g(t)^2.
        g: Polynomial = values["g"]
        found = p.through(
            [
                (t, exact.slope(p.minus(p.scaled(f, p.value(g, t)), p.scaled(g, p.value(f, t))), t))
                for t in range(len(f) + len(g) - 2)
            ]
        )
        return _quotient(found, g, 2)


def _product(left: list[Any], right: list[Any]) -> list[Any]:
    """The first coefficients of a product of power series, as many as ``right`` has."""
    return [
        sum(left[k] * right[n - k] for k in range(min(n + 1, len(left)))) for n in range(len(right))
    ]


def _quotient(above: Polynomial, below: Polynomial, power: int = 1) -> Gold:
    return gold.expression(
        f"({p.plain(above)})/({p.plain(below)})^{power}",
        f"\\frac{{{p.latex(above)}}}"
        + (f"{{({p.latex(below)})^{power}}}" if power > 1 else f"{{{p.latex(below)}}}"),
        ["x"],
    )
