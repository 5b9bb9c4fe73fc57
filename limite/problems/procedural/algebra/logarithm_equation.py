"""Equations with logarithms to one base, false solutions included."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import factor, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial, latex
from limite.problems.procedural.wording import Wordings

_POWERS = {2: 6, 3: 4, 5: 3, 6: 2, 10: 2}


@attrs.frozen(kw_only=True)
class LogarithmEquation(Family):
    """The real solutions of an equation with logarithms, as a set."""

    name = "logarithm-equation"
    tag = "algebra/exponentials-and-logarithms"
    wordings = Wordings(
        "Find the set of all real solutions of $<left:text> = <right>$.",
        "Solve $<left:text> = <right>$ over the real numbers. Answer with the set of solutions.",
        "Which real numbers $x$ satisfy $<left:text> = <right>$? Answer with the set of all of "
        "them.",
    )

    root: Ends = dial(6, 20, "largest solution of the equation without logarithms", least=3)
    two: Ends = dial(0, 1, "share with two logarithms", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.root, difficulty)
        number = base.chosen(rng, sorted(_POWERS))
        exponent = base.whole(rng, 1, _POWERS[number])
        value = number**exponent
        if rng.random() >= base.steady(self.two, difficulty):
            x, slope = nonzero(rng, size), base.whole(rng, 1, 4)
            inside = (value - slope * x, slope)
            shown = f"{number}^{{{exponent}}} = {value}" if exponent > 1 else str(value)
            return Drawn(
                values={"left": _log(number, inside), "right": exponent},
                gold=gold.finite_set([x]),
                steps=f"The equation means ${latex(inside)} = {shown}$, so ${latex((0, slope))} = "
                f"{value - inside[0]}$.",
            )
        if rng.random() < 0.4:
            return _quadratic(rng, number, exponent, size)
        # (x - p)(x - q) = value where x - p and x - q are factors of value.
        small = base.chosen(rng, [each for each in range(1, value) if value % each == 0])
        large = value // small
        if rng.random() < 0.3:
            small, large = large, small
        x = nonzero(rng, size)
        p, q = x - small, x - large
        if p == q:
            q = p - value + 1
            p, small, large = x - 1, 1, value
            q = x - value
        other = p + q - x
        product = polynomials.with_roots((p, q))
        quadratic = polynomials.minus(product, (value,))
        left = f"{_log(number, (-p, 1))} + {_log(number, (-q, 1))}"
        return Drawn(
            values={"left": left, "right": exponent},
            gold=gold.finite_set([x]),
            steps=f"Both logarithms are defined for $x > {max(p, q)}$. There the equation means "
            f"${factor(p)}{factor(q)} = {value}$, that is ${latex(quadratic)} = 0$, which factors "
            f"as ${_product(x, other)} = 0$. Of its solutions ${x}$ and ${other}$ only ${x}$ is "
            f"greater than ${max(p, q)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the quadratic formula on the product, then a trial of each candidate.
        found = _LOG.findall(values["left"])
        number = int(found[0][0])
        insides = [polynomials.read(inside) for _, inside in found]
        if any(int(each) != number for each, _ in found):
            return None
        terms = polynomials.minus(polynomials.times(*insides), (number ** values["right"],))
        candidates = _integer_zeros(terms)
        if candidates is None:
            return None
        return gold.finite_set(
            x for x in candidates if all(polynomials.value(each, x) > 0 for each in insides)
        )


def _quadratic(rng: random.Random, number: int, exponent: int, size: float) -> Drawn:
    """One logarithm of a quadratic polynomial."""
    first, second = base.distinct(rng, 2, -int(size), int(size))
    value = number**exponent
    zero = polynomials.with_roots((first, second))
    inside = polynomials.plus(zero, (value,))
    shown = f"{number}^{{{exponent}}} = {value}" if exponent > 1 else str(value)
    return Drawn(
        values={"left": _log(number, inside), "right": exponent},
        gold=gold.finite_set([first, second]),
        steps=f"The equation means ${latex(inside)} = {shown}$, that is ${latex(zero)} = 0$ or "
        f"${_product(first, second)} = 0$. For both solutions the logarithm is that of the "
        f"positive number ${value}$.",
    )


_LOG = re.compile(r"\\log_\{?([0-9]+)\}?\(([^()]*)\)")


def _log(number: int, inside: Polynomial) -> str:
    below = str(number) if number < 10 else f"{{{number}}}"
    return f"\\log_{below}({latex(inside)})"


def _product(first: int, second: int) -> str:
    return "".join(map(factor, sorted((first, second), key=bool)))


def _integer_zeros(terms: Polynomial) -> list[int] | None:
    """The zeros of a polynomial of degree 1 or 2; None where they are no integers."""
    c, b, a = (*map(int, terms), 0)[:3]
    if a == 0:
        return [-c // b] if c % b == 0 else None
    inside = b * b - 4 * a * c
    if inside < 0:
        return []
    root = math.isqrt(inside)
    if root * root != inside or any((-b + sign * root) % (2 * a) for sign in (1, -1)):
        return None
    return [(-b + sign * root) // (2 * a) for sign in (1, -1)]
