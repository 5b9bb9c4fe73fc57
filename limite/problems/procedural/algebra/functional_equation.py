"""Functions that are known only through an equation."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import bracketed, linear, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial, latex
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class FunctionalEquation(Family):
    """A function given by an equation for all x: its value, or the function itself."""

    name = "functional-equation"
    tag = "algebra/functions"
    wordings = Wordings(
        value=(
            "A function $f$ satisfies $f(<inside:polynomial>) = <right:polynomial>$ for all real "
            "$x$. Find $f(<at>)$.",
            "For every real $x$, $f(<inside:polynomial>) = <right:polynomial>$. What is $f(<at>)$?",
        ),
        rule=(
            "A function $f$ satisfies $f(<inside:polynomial>) = <right:polynomial>$ for all real "
            "$x$. Find $f(x)$.",
            "For every real $x$, $f(<inside:polynomial>) = <right:polynomial>$. Which function is "
            "$f(x)$?",
        ),
        mirror=(
            "A function $f$ satisfies $f(x) + <times>f(<middle> - x) = <right:polynomial>$ "
            "for all real $x$. Find $f(<at>)$.",
            "For every real $x$, $f(x) + <times>f(<middle> - x) = <right:polynomial>$. What "
            "is $f(<at>)$?",
        ),
    )

    degree: Ends = dial(1, 2, "degree of the function", most=4)
    size: Ends = dial(4, 9, "largest number drawn", least=3, most=50)
    harder: Ends = dial(0, 1, "share that asks for the function, or with f twice", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        degree = base.whole_near(rng, base.steady(self.degree, difficulty))
        lower = [base.whole(rng, 0, size) - int(size / 2) for _ in range(degree)]
        f = polynomials.polynomial([*lower, nonzero(rng, size / 2)])
        harder = rng.random() < base.steady(self.harder, difficulty)
        if harder and rng.random() < 0.5:
            return _mirror(rng, f, size)
        slope, shift = base.whole(rng, 1, 1 + size / 3), nonzero(rng, size)
        inside: Polynomial = (shift, slope)
        right = polynomials.composed(f, inside)
        if harder:
            solved = f"(t{-shift:+d})".replace("+", " + ").replace("-", " - ")
            argument = (
                solved.strip("()") if slope == 1 else f"\\frac{{{solved.strip('()')}}}{{{slope}}}"
            )
            return Drawn(
                ask="rule",
                values={"inside": inside, "right": right},
                gold=gold.polynomial(f),
                steps=f"With $t = {latex(inside)}$ the other side is to be written in $t$, where "
                f"$x = {argument}$. Inserting this into ${latex(right)}$ and expanding gives "
                f"$f(t) = {latex(f, 't')}$.",
            )
        x = nonzero(rng, 5)
        at = slope * x + shift
        return Drawn(
            ask="value",
            values={"inside": inside, "right": right, "at": at},
            gold=gold.integer(int(polynomials.value(right, x))),
            steps=f"The argument is ${at}$ when ${latex(inside)} = {at}$, that is for $x = {x}$. "
            f"There the right side is ${_inserted(right, x)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        right = values["right"]
        if ask == "mirror":
            # Unknown coefficients: f(x) + k f(m - x) compared at enough points.
            times, size = values["times"], len(right)
            rows, other = [], []
            for x in range(size):
                mirrored = values["middle"] - x
                rows.append([x**power + times * mirrored**power for power in range(size)])
                other.append(polynomials.value(right, x))
            found = exact.solved(rows, other)
            if found is None:
                return None
            return gold.rational(polynomials.value(polynomials.polynomial(found), values["at"]))
        inside = values["inside"]
        # The function is found from its values at enough arguments.
        points = [
            (polynomials.value(inside, x), polynomials.value(right, x)) for x in range(len(right))
        ]
        f = polynomials.through(points)
        if ask == "rule":
            return gold.polynomial(f)
        value = polynomials.value(f, values["at"])
        return gold.integer(value) if isinstance(value, int) else None


def _mirror(rng: random.Random, f: Polynomial, size: float) -> Drawn:
    """f(x) + k f(m - x) = right side."""
    times, middle = base.whole(rng, 2, 4), nonzero(rng, size)
    mirror: Polynomial = (middle, -1)
    right = polynomials.plus(f, polynomials.scaled(polynomials.composed(f, mirror), times))
    if len(right) < 2:
        right = polynomials.plus(right, (0, 1))
    at = nonzero(rng, 4)
    if 2 * at == middle:
        at += 1 if at != -1 else 2
    other = middle - at
    here, there = int(polynomials.value(right, at)), int(polynomials.value(right, other))
    # f(at) + k f(other) = here and f(other) + k f(at) = there
    value = Fraction(here - times * there, 1 - times * times)
    return Drawn(
        ask="mirror",
        values={"times": times, "middle": middle, "right": right, "at": at},
        gold=gold.rational(value),
        steps=f"At $x = {at}$ the equation is $f({at}) + {times}f({other}) = {here}$, and at "
        f"$x = {other}$ it is $f({other}) + {times}f({at}) = {there}$. Taking ${times}$ times the "
        f"second from the first leaves ${linear([1 - times * times], 'u')} = "
        f"{here - times * there}$ for $u = f({at})$.",
    )


def _inserted(terms: Polynomial, at: int) -> str:
    text = ""
    for power in range(len(terms) - 1, -1, -1):
        size = terms[power]
        if size:
            sign = ("-" if size < 0 else "") if not text else (" - " if size < 0 else " + ")
            shown = ratio_text(-size if size < 0 else size)
            factor = bracketed(at) + (f"^{power}" if power > 1 else "")
            text += sign + (
                shown if not power else factor if shown == "1" else f"{shown} \\cdot {factor}"
            )
    return f"{text} = {polynomials.value(terms, at)}"
