"""Derivatives of polynomials, and of products and powers of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PolynomialDerivative(Family):
    """The derivative of a polynomial, of a product or of a power, or a second derivative."""

    name = "polynomial-derivative"
    tag = "calculus/derivatives"
    wordings = Wordings(
        first=(
            "Find the derivative of $f(x) = <f:polynomial>$.",
            "Differentiate $<f:polynomial>$ with respect to $x$.",
            "What is $\\frac{d}{dx}\\left(<f:polynomial>\\right)$?",
        ),
        second=(
            "Find the second derivative of $f(x) = <f:polynomial>$.",
            "Let $f(x) = <f:polynomial>$. What is $f''(x)$?",
        ),
        product=(
            "Find the derivative of $f(x) = (<f:polynomial>)(<g:polynomial>)$.",
            "Differentiate $(<f:polynomial>)(<g:polynomial>)$ with respect to $x$.",
        ),
        power=(
            "Find the derivative of $f(x) = (<f:polynomial>)^<n>$.",
            "Differentiate $(<f:polynomial>)^<n>$ with respect to $x$.",
        ),
    )

    degree: Ends = dial(2, 5, "highest power of a polynomial", least=2, most=8)
    size: Ends = dial(6, 12, "largest coefficient", least=2, most=1000)
    rules: Ends = dial(
        0, 0.8, "share with a product, a power or a second derivative", least=0, most=1
    )

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        degree = base.whole_near(rng, base.steady(self.degree, difficulty))
        size = base.steady(self.size, difficulty)
        if rng.random() >= base.steady(self.rules, difficulty):
            f = exact.some(rng, degree, size)
            found = p.derivative(f)
            terms = ", ".join(
                f"${p.latex((*[0] * power, f[power]))}$ gives "
                f"${p.latex((*[0] * (power - 1), power * f[power])) if power else 0}$"
                for power in range(len(f) - 1, -1, -1)
                if f[power]
            )
            return Drawn(
                ask="first",
                values={"f": f},
                gold=gold.polynomial(found),
                steps=f"Differentiate term by term: {terms}.",
            )
        kind = base.chosen(rng, ("second", "product", "power"))
        if kind == "second":
            f = exact.some(rng, degree + 1, size)
            between = p.derivative(f)
            return Drawn(
                ask=kind,
                values={"f": f},
                gold=gold.polynomial(p.derivative(between)),
                steps=f"The first derivative is ${p.latex(between)}$. Its terms are "
                f"differentiated once more.",
            )
        if kind == "product":
            f, g = (
                exact.some(rng, max(1, degree // 2), size),
                exact.some(rng, (degree + 1) // 2, size),
            )
            inner, outer = p.derivative(f), p.derivative(g)
            first, second = p.times(inner, g), p.times(f, outer)
            return Drawn(
                ask=kind,
                values={"f": f, "g": g},
                gold=gold.polynomial(p.plus(first, second)),
                steps=f"The factors have the derivatives ${p.latex(inner)}$ and "
                f"${p.latex(outer)}$. By the product rule $({p.latex(inner)})({p.latex(g)}) + "
                f"({p.latex(f)})({p.latex(outer)})$ is the derivative, that is the sum of "
                f"${p.latex(first)}$ and ${p.latex(second)}$.",
            )
        f, n = exact.some(rng, 1 + (degree > 3), min(size, 7)), base.whole(rng, 3, 5)
        inner = p.derivative(f)
        front = p.scaled(inner, n)
        one = sum(map(bool, front)) == 1
        latex, plain = p.latex(front), p.plain(front)
        return Drawn(
            ask=kind,
            values={"f": f, "n": n},
            gold=gold.expression(
                f"({plain})*({p.plain(f)})^{n - 1}",
                f"{latex if one else f'({latex})'}({p.latex(f)})^{n - 1}",
                ["x"],
            ),
            steps=f"By the chain rule the derivative is ${n}({p.latex(f)})^{n - 1}$ times the "
            f"derivative of ${p.latex(f)}$, which is ${p.latex(inner)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # From quotients of differences that divide out, at enough points.
        f = values["f"]
        if ask == "product":
            f = p.times(f, values["g"])
        elif ask == "power":
            f = p.raised(f, values["n"])
        found = exact.slopes(f)
        return gold.polynomial(exact.slopes(found) if ask == "second" else found)
