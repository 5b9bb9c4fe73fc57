"""Calculus of polynomials by exact arithmetic: no rule for derivatives, no antiderivatives."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from limite.core.types import Answer
from limite.problems.procedural import base, gold
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number, Polynomial
from limite.problems.procedural.wording import ratio_text


def some(rng: random.Random, degree: int, size: float) -> Polynomial:
    """A polynomial of this degree with whole coefficients up to ``size``, and two terms or more."""
    terms = [base.whole(rng, -round(size), size) for _ in range(degree)]
    if degree and not any(terms):
        terms[0] = base.whole(rng, 1, size)
    return p.polynomial([*terms, nonzero(rng, size)])


def nonzero(rng: random.Random, size: float) -> int:
    """A whole number from ``-size`` to ``size`` that is not zero."""
    number = base.whole(rng, 1, size)
    return -number if rng.random() < 0.5 else number


def slope(terms: Polynomial, at: Number) -> Number:
    """The derivative at a point: (f(x) - f(a)) : (x - a) divides out, and its value at a is it."""
    quotient, _ = p.divided(terms, (-at, 1))
    return p.value(quotient, at)


def slopes(terms: Polynomial) -> Polynomial:
    """The derivative, through its values at as many points as it needs."""
    return p.through([(at, slope(terms, at)) for at in range(len(terms) - 1)])


def area(height: Callable[[Number], Number], low: Number, high: Number) -> Fraction:
    """The integral by Boole's rule on five points, exact up to degree five."""
    step = Fraction(high - low) / 4
    weighted = sum(
        weight * Fraction(height(low + place * step))
        for place, weight in enumerate((7, 32, 12, 32, 7))
    )
    return Fraction(weighted) * 2 * step / 45


def under(terms: Polynomial, low: Number, high: Number) -> Fraction:
    """The same for a polynomial up to degree five, in whole numbers where all is whole."""
    if not all(isinstance(each, int) for each in (*terms, low, high)):
        return area(lambda x: p.value(terms, x), low, high)
    total: Number = 0
    scale = 4 ** max(len(terms) - 1, 0)
    for place, weight in enumerate((7, 32, 12, 32, 7)):
        at, power = 4 * low + place * (high - low), 1
        height: Number = 0
        for coefficient in reversed(terms):
            height = height * at + coefficient * power
            power *= 4
        total += weight * height
    return Fraction(total) * (high - low) / (90 * int(scale))


def rational_roots(terms: Polynomial) -> list[Fraction] | None:
    """The different roots, found by trying all fractions that may be one; None where others are
    left over."""
    scale = math.lcm(*(Fraction(each).denominator for each in terms))
    rest: Polynomial = p.scaled(terms, scale)
    found: list[Fraction] = []
    while p.degree(rest) > 0:
        root = _a_root(rest)
        if root is None:
            return None
        found.append(root)
        while not p.value(rest, root):
            rest, _ = p.divided(rest, (-root, 1))
    return sorted(set(found))


def _a_root(terms: Polynomial) -> Fraction | None:
    scale = math.lcm(*(Fraction(each).denominator for each in terms))
    whole = [int(each * scale) for each in terms]
    if not whole[0]:
        return Fraction(0)
    if len(whole) == 2:
        return Fraction(-whole[0], whole[1])
    for below in _divisors(abs(whole[-1])):
        for above in _divisors(abs(whole[0])):
            for root in (Fraction(above, below), Fraction(-above, below)):
                total, u, v = 0, root.numerator, root.denominator
                scaled = 1
                for coefficient in reversed(whole):
                    total = total * u + coefficient * scaled
                    scaled *= v
                if not total:
                    return root
    return None


def _divisors(number: int) -> list[int]:
    small = [each for each in range(1, math.isqrt(number) + 1) if number % each == 0]
    return small + [number // each for each in reversed(small) if each * each != number]


def times_exponential(terms: Polynomial, rate: int, **params: Any) -> Gold:
    """The answer of a polynomial times e^(rate x)."""
    latex = f"({p.latex(terms)})e^{{{rate}x}}"
    text = f"({p.plain(terms)})*e^({rate}*x)"
    if sum(map(bool, terms)) < 2:
        return gold.expression(text, latex, ["x"], **params)
    params["variables"] = ["x"]
    return Gold(Answer(type="expression", value=text, params=params), latex)  # is canonical


def factor(number: Number) -> str:
    """A number as a factor, in brackets where it is negative."""
    return f"({ratio_text(number)})" if number < 0 else ratio_text(number)
