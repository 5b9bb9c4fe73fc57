"""Partial derivatives: gradients, Hessian matrices and slopes of curves."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_Terms = dict[tuple[int, int], int]
"""Coefficients by the exponents of x and y."""
_TERM = re.compile(r"([-+]?) ?([0-9]*)(x(?:\^([0-9]))?)?(y(?:\^([0-9]))?)?")


@attrs.frozen(kw_only=True)
class Gradient(Family):
    """The gradient or the Hessian matrix of a polynomial in x and y, or the slope of its curve."""

    name = "gradient"
    tag = "calculus/partial-derivatives"
    wordings = Wordings(
        gradient=(
            "Find the gradient of $f(x, y) = <f:text>$ at the point $(<x>, <y>)$.",
            "Let $f(x, y) = <f:text>$. Give the vector $\\left(\\frac{\\partial f}{\\partial x}, "
            "\\frac{\\partial f}{\\partial y}\\right)$ at $(<x>, <y>)$.",
        ),
        hessian=(
            "Find the Hessian matrix of $f(x, y) = <f:text>$ at the point $(<x>, <y>)$.",
            "Let $f(x, y) = <f:text>$. Give the matrix of the second partial derivatives of $f$ "
            "at $(<x>, <y>)$, with $x$ before $y$ in rows and columns.",
        ),
        slope=(
            "The curve $<f:text> = <c>$ passes through $(<x>, <y>)$. Find $\\frac{dy}{dx}$ at this "
            "point.",
            "Near the point $(<x>, <y>)$ the equation $<f:text> = <c>$ defines $y$ as a function "
            "of $x$. Find its derivative at this point.",
        ),
        directional=(
            "Find the derivative of $f(x, y) = <f:text>$ at $(<x>, <y>)$ along the vector "
            "$(<u>, <v>)$, that is $\\frac{d}{dt}f(<x> + <u>t, <y> + <v>t)$ at $t = 0$.",
            "A point moves so that at time $t$ it is at $(<x> + <u>t, <y> + <v>t)$. How fast does "
            "$f(x, y) = <f:text>$ change along its way at $t = 0$?",
        ),
    )

    terms: Ends = dial(2, 4, "how many terms", least=2, most=6)
    degree: Ends = dial(2, 4, "highest degree of a term", least=2, most=6)
    others: Ends = dial(0, 0.85, "share that asks for no gradient", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.terms, difficulty))
        degree = base.whole_near(rng, base.steady(self.degree, difficulty))
        f: _Terms = {}
        i = base.whole(rng, 1, degree - 1)  # one term holds both
        f[i, base.whole(rng, 1, degree - i)] = exact.nonzero(rng, 6)
        for _ in range(count - 1):
            i = base.whole(rng, 0, degree)
            j = base.whole(rng, 0 if i else 1, degree - i) if i < degree else 0
            f.setdefault((i, j), exact.nonzero(rng, 6))
        if len(f) == 1:
            f[2, 0] = f.get((2, 0)) or exact.nonzero(rng, 6)
            f.setdefault((0, 2), exact.nonzero(rng, 6))
        x, y = exact.nonzero(rng, 3), exact.nonzero(rng, 3)
        values = {"f": _latex(f), "x": x, "y": y}
        along, across = _partial(f, 0), _partial(f, 1)
        first, second = _value(along, x, y), _value(across, x, y)
        steps = (
            f"The partial derivatives are ${_latex(along)}$ by $x$ and ${_latex(across)}$ by $y$."
        )
        other = rng.random() < base.steady(self.others, difficulty)
        kind = base.chosen(rng, ("hessian", "slope", "directional")) if other else "gradient"
        if kind == "hessian":
            rows = [[_partial(each, k) for k in (0, 1)] for each in (along, across)]
            found = [[_value(entry, x, y) for entry in row] for row in rows]
            return Drawn(
                ask=kind,
                values=values,
                gold=gold.matrix(found),
                steps=f"{steps} Differentiated once more, they give ${_latex(rows[0][0])}$ for "
                f"$xx$, ${_latex(rows[0][1])}$ for $xy$ and $yx$, and ${_latex(rows[1][1])}$ for "
                f"$yy$. Put in $x = {x}$ and $y = {y}$.",
            )
        steps += f" At $({x}, {y})$ they are ${first}$ and ${second}$"
        if kind == "slope" and second:
            return Drawn(
                ask=kind,
                values={**values, "c": _value(f, x, y)},
                gold=gold.rational(Fraction(-first, second)),
                steps=f"{steps}. Along the curve ${first} + {exact.factor(second)}"
                f"\\frac{{dy}}{{dx}} = 0$.",
            )
        if kind == "directional":
            # Positive numbers, which read well behind a plus sign.
            u, v = base.whole(rng, 2, 9), base.whole(rng, 2, 9)
            return Drawn(
                ask=kind,
                values={**values, "u": u, "v": v},
                gold=gold.rational(first * u + second * v),
                steps=f"{steps}. By the chain rule the derivative is ${exact.factor(first)} \\cdot "
                f"{u} + {exact.factor(second)} \\cdot {v}$.",
            )
        return Drawn(
            ask="gradient",
            values=values,
            gold=gold.ordered([first, second]),
            steps=f"{steps}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By f(x + h, y + k), multiplied out by powers of h and k up to the second.
        x, y = values["x"], values["y"]
        try:
            near = _around(_read(values["f"]), x, y)
        except ValueError:
            return None
        first, second = near.get((1, 0), 0), near.get((0, 1), 0)
        if ask == "gradient":
            return gold.ordered([first, second])
        if ask == "directional":
            return gold.rational(first * values["u"] + second * values["v"])
        if ask == "hessian":
            mixed = near.get((1, 1), 0)
            return gold.matrix([[2 * near.get((2, 0), 0), mixed], [mixed, 2 * near.get((0, 2), 0)]])
        if near.get((0, 0), 0) != values["c"] or not second:
            return None
        return gold.rational(Fraction(-first, second))


def _partial(f: _Terms, by: int) -> _Terms:
    found: _Terms = {}
    for (i, j), c in f.items():
        if (i, j)[by]:
            found[i - (by == 0), j - (by == 1)] = c * (i, j)[by]
    return found


def _value(f: _Terms, x: int, y: int) -> int:
    return sum(c * x**i * y**j for (i, j), c in f.items())


def _around(f: _Terms, x: int, y: int) -> _Terms:
    """The coefficients in h and k of f(x + h, y + k), by multiplying out."""
    total: _Terms = {}
    for (i, j), c in f.items():
        product: _Terms = {(0, 0): c}
        for step in ["x"] * i + ["y"] * j:
            grown: _Terms = {}
            for (a, b), d in product.items():
                grown[a, b] = grown.get((a, b), 0) + d * (x if step == "x" else y)
                up = (a + 1, b) if step == "x" else (a, b + 1)
                if sum(up) <= 2:
                    grown[up] = grown.get(up, 0) + d
            product = grown
        for key, d in product.items():
            total[key] = total.get(key, 0) + d
    return total


def _latex(f: _Terms) -> str:
    text = ""
    for (i, j), c in sorted(f.items(), reverse=True):
        sign = "-" if c < 0 else ""
        text += f" {sign or '+'} " if text else sign
        text += "" if abs(c) == 1 and i + j else str(abs(c))
        for letter, power in (("x", i), ("y", j)):
            text += (letter if power == 1 else f"{letter}^{power}") if power else ""
    return text or "0"


def _read(text: str) -> _Terms:
    found: _Terms = {}
    for part in re.sub(r" ([-+]) ", r" \1", text).split():
        match = _TERM.fullmatch(part)
        if match is None:
            raise ValueError(f"no term in x and y: {part!r}")
        sign, size, has_x, x, has_y, y = match.groups()
        key = (int(x or 1) if has_x else 0, int(y or 1) if has_y else 0)
        found[key] = found.get(key, 0) + int(f"{sign}{size or 1}")
    return found
