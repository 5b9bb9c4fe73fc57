"""Sums of roots and multiples of pi with exact factors, written as answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from limite.core.types import Answer
from limite.problems.procedural.gold import Gold

Number = Fraction | int
Surd = Mapping[int, Number]
"""Factors by what they multiply: n stands for the root of n, 1 for one, 0 for pi."""
PI = 0


def root(square: Number) -> dict[int, Number]:
    """The square root of a number that is not negative, with the smallest number under it."""
    square = Fraction(square)
    left, below = square.numerator * square.denominator, square.denominator
    under, outside, prime = 1, 1, 2
    if not left:
        return {}
    while prime**3 <= left:
        count = 0
        while left % prime == 0:
            left, count = left // prime, count + 1
        under, outside = under * prime ** (count % 2), outside * prime ** (count // 2)
        prime += 1
    # What is left has at most two prime factors.
    whole = math.isqrt(left)
    if whole * whole == left:
        return {under: Fraction(outside * whole, below)}
    return {under * left: Fraction(outside, below)}


def times(surd: Surd, by: Number) -> dict[int, Number]:
    """A rational number times a sum of roots."""
    return {under: factor * by for under, factor in surd.items()}


def product(left: Surd, right: Surd) -> dict[int, Number]:
    """The product of sums of roots, without pi."""
    total: dict[int, Number] = {}
    for one, factor in left.items():
        for other, size in right.items():
            ((under, outside),) = root(one * other).items()
            total[under] = total.get(under, 0) + factor * size * outside
    return {under: factor for under, factor in total.items() if factor}


def plus(*surds: Surd) -> dict[int, Number]:
    """The sum."""
    total: dict[int, Number] = {}
    for surd in surds:
        for under, factor in surd.items():
            total[under] = total.get(under, 0) + factor
    return total


def latex(surd: Surd) -> str:
    """``3\\pi + 2 - \\frac{\\sqrt{5}}{2}``."""
    text = ""
    for under, factor in sorted(surd.items()):
        if factor:
            sign = "-" if factor < 0 else ""
            text += f" {sign or '+'} " if text else sign
            text += _term(abs(Fraction(factor)), under)
    return text or "0"


def _term(size: Fraction, under: int) -> str:
    kernel = {PI: "\\pi", 1: ""}.get(under, f"\\sqrt{{{under}}}")
    above = kernel if kernel and size.numerator == 1 else f"{size.numerator}{kernel}"
    return above if size.denominator == 1 else f"\\frac{{{above}}}{{{size.denominator}}}"


def plain(surd: Surd) -> str:
    """``3*pi-1/2*sqrt(5)+2``: the canonical notation of answers."""
    text = ""
    for under, factor in sorted(surd.items(), key=lambda part: (part[0] == 1, part[0])):
        if factor:
            kernel = {PI: "pi", 1: ""}.get(under, f"sqrt({under})")
            size = abs(factor)
            text += "-" if factor < 0 else "+" if text else ""
            text += f"{'' if size == 1 else f'{size}*'}{kernel}" if kernel else str(size)
    return text or "0"


def said(surd: Surd) -> Gold:
    """As an answer that counts by value."""
    return Gold(Answer(type="expression", value=plain(surd)), latex(surd))  # is canonical
