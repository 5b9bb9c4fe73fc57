"""Lines and planes by equations with whole coefficients: written, read and brought to one form."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction

from limite.core.types import Answer
from limite.problems.procedural.gold import Gold

Line = tuple[int, ...]
"""The coefficients of x and y, in space also of z, and what they sum to: ax + by = c."""
_TERM = re.compile(r"([-+]?) ?([0-9]*)([xyz])")


def reduced(coefficients: Sequence[Fraction | int]) -> Line:
    """The same line with whole coefficients as small as they can be, the first one positive."""
    scale = math.lcm(*(Fraction(each).denominator for each in coefficients))
    whole = [int(each * scale) for each in coefficients]
    shared = math.gcd(*whole)
    first = next((each for each in whole if each), 1)
    if first < 0:
        shared = -shared
    return tuple(each // shared for each in whole)


def latex(line: Line) -> str:
    """``3x - 4y = 7``."""
    text = ""
    for coefficient, letter in zip(line, "xyz"[: len(line) - 1], strict=False):
        if coefficient:
            sign = "-" if coefficient < 0 else ""
            text += f" {sign or '+'} " if text else sign
            text += f"{'' if abs(coefficient) == 1 else abs(coefficient)}{letter}"
    return f"{text} = {line[-1]}"


def read(text: str) -> Line:
    """The line in the plane, or with z in the text the plane, that ``latex`` wrote."""
    left, _, right = text.partition(" = ")
    found = {letter: int(f"{sign}{size or 1}") for sign, size, letter in _TERM.findall(left)}
    letters = "xyz" if "z" in found else "xy"
    return (*(found.get(letter, 0) for letter in letters), int(right))


def plain(line: Line) -> str:
    """``3*x-4*y=7``: the canonical notation of answers."""
    text = ""
    for coefficient, letter in zip(line, "xyz"[: len(line) - 1], strict=False):
        if coefficient:
            text += "-" if coefficient < 0 else "+" if text else ""
            text += f"{'' if abs(coefficient) == 1 else f'{abs(coefficient)}*'}{letter}"
    return f"{text}={line[-1]}"


def said(coefficients: Sequence[Fraction | int]) -> Gold:
    """As an answer, equal up to a factor and moved terms."""
    line = reduced(coefficients)
    params = {"variables": list("xyz"[: len(line) - 1])}
    return Gold(Answer(type="equation", value=plain(line), params=params), latex(line))


def crossing(first: Line, second: Line) -> tuple[Fraction, Fraction] | None:
    """Where two lines of the plane meet, by Cramer's rule; None for parallel ones."""
    (a, b, c), (d, e, f) = first, second
    below = a * e - b * d
    return (Fraction(c * e - b * f, below), Fraction(a * f - c * d, below)) if below else None
