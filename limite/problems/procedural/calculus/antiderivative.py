"""Antiderivatives, all of them or the one with a given value."""

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
from limite.problems.procedural.polynomials import Polynomial
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class Antiderivative(Family):
    """A function with a given derivative: up to a constant, or with a given value."""

    name = "antiderivative"
    tag = "calculus/integrals"
    wordings = Wordings(
        polynomial=(
            "Find $\\int (<f:polynomial>)\\,dx$, up to a constant.",
            "Find an antiderivative of $f(x) = <f:polynomial>$.",
        ),
        value=(
            "A function satisfies $F'(x) = <f:polynomial>$ and $F(<t>) = <v>$. Find $F(x)$.",
            "Find the function $F(x)$ with derivative $<f:polynomial>$ whose graph passes through "
            "$(<t>, <v>)$.",
        ),
        exponential=(
            "Find $\\int (<f:polynomial>)e^{<a>x}\\,dx$, up to a constant.",
            "Find an antiderivative of $f(x) = (<f:polynomial>)e^{<a>x}$.",
        ),
        inner=(
            "Find $\\int (<f:polynomial>)(<g:polynomial>)^{<n>}\\,dx$, up to a constant.",
            "Find an antiderivative of $f(x) = (<f:polynomial>)(<g:polynomial>)^{<n>}$.",
        ),
    )

    degree: Ends = dial(2, 4, "highest power of the antiderivative, less one", least=1, most=5)
    size: Ends = dial(8, 12, "largest coefficient", least=2, most=1000)
    methods: Ends = dial(
        0, 0.85, "share that needs parts, a substitution or a value", least=0, most=1
    )

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        degree = base.whole_near(rng, base.steady(self.degree, difficulty))
        hard = rng.random() < base.steady(self.methods, difficulty)
        kind = base.chosen(rng, ("value", "exponential", "inner")) if hard else "polynomial"
        if kind in ("polynomial", "value"):
            whole = exact.some(rng, degree + 1, size)
            f = p.derivative(whole)
            if kind == "polynomial":
                free = p.polynomial((0, *whole[1:]))
                return Drawn(
                    ask=kind,
                    values={"f": f},
                    gold=_polynomial(free),
                    steps=f"Raise each exponent by one and divide the coefficient by the new "
                    f"exponent: the derivative of ${p.latex(free)}$ is ${p.latex(f)}$.",
                )
            t = exact.nonzero(rng, 2)
            free = p.polynomial((0, *whole[1:]))
            return Drawn(
                ask=kind,
                values={"f": f, "t": t, "v": p.value(whole, t)},
                gold=gold.polynomial(whole),
                steps=f"All functions with this derivative are ${p.latex(free)} + C$. At "
                f"$x = {t}$ the first part is ${p.value(free, t)}$ and the value must be "
                f"${p.value(whole, t)}$, so $C = {p.value(whole, t) - p.value(free, t)}$.",
            )
        if kind == "exponential":
            q = exact.some(rng, max(1, degree // 2), size)
            a = base.chosen(rng, (2, 3, -2, -3))
            f = p.plus(p.derivative(q), p.scaled(q, a))
            return Drawn(
                ask=kind,
                values={"f": f, "a": a},
                gold=_exponential(q, a),
                steps=f"Look for $q(x)e^{{{a}x}}$ with a polynomial $q$ of the same degree. Its "
                f"derivative is $(q'(x) {'-' if a < 0 else '+'} {abs(a)}q(x))e^{{{a}x}}$, and "
                f"comparing coefficients from the highest down gives $q(x) = {p.latex(q)}$.",
            )
        g, n, k = (
            exact.some(rng, 1 + degree // 2, size),
            base.whole(rng, 2, 5),
            base.whole(rng, 1, 3),
        )
        f = p.scaled(p.derivative(g), k)
        if f == (1,):
            f, k = (2,), 2
        factor = Fraction(k, n + 1)
        return Drawn(
            ask=kind,
            values={"f": f, "g": g, "n": n},
            gold=_up_to_constant(
                f"{factor}*({p.plain(g)})^{n + 1}",
                f"{ratio_text(factor)}({p.latex(g)})^{n + 1}"
                if factor.denominator > 1
                else f"{'' if factor == 1 else factor}({p.latex(g)})^{n + 1}",
            ),
            steps=f"Put $u = {p.latex(g)}$, whose derivative is ${p.latex(p.derivative(g))}$. The "
            f"integrand is ${'' if k == 1 else k}u^{n}$ times this derivative, so an "
            f"antiderivative is $u^{n + 1}$ times ${ratio_text(factor)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        f: Polynomial = values["f"]
        if ask == "exponential":
            # By parts, again and again: f/a - f'/a^2 + f''/a^3 and so on, times the exponential.
            a, total, turn = values["a"], p.polynomial(()), Fraction(1, values["a"])
            while f:
                total, f, turn = p.plus(total, p.scaled(f, turn)), exact.slopes(f), -turn / a
            return _exponential(total, values["a"])
        if ask == "inner":  # multiplied out, and power by power
            product = p.times(f, p.raised(values["g"], values["n"]))
            total = p.polynomial([0, *(Fraction(c, k + 1) for k, c in enumerate(product))])
            return _up_to_constant(p.plain(total), "")
        if p.degree(f) > 5:
            return None
        # Through areas from 0, by a rule on five points that is exact up to degree five.
        total = p.through([(at, exact.under(f, 0, at)) for at in range(len(f) + 1)])
        if ask == "value":
            total = p.plus(total, (values["v"] - p.value(total, values["t"]),))
            return gold.polynomial(total)
        return _polynomial(total)


def _polynomial(terms: Polynomial) -> Gold:
    found = gold.polynomial(terms).answer
    params = {**found.params, "up_to": "constant"}
    return Gold(attrs.evolve(found, params=params), f"{p.latex(terms)} + C")


def _exponential(terms: Polynomial, rate: int) -> Gold:
    found = exact.times_exponential(terms, rate, up_to="constant")
    return Gold(found.answer, f"{found.latex} + C")


def _up_to_constant(plain: str, latex: str) -> Gold:
    return gold.expression(plain, f"{latex} + C", ["x"], up_to="constant")
