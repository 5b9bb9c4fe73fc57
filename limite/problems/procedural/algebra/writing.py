"""How the families of algebra write numbers, linear forms and fractions, and read them back."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from fractions import Fraction

from limite.problems.procedural import base, polynomials
from limite.problems.procedural.polynomials import Number
from limite.problems.procedural.wording import ratio_text, read_ratio


def nonzero(rng: random.Random, size: float) -> int:
    """A whole number from ``-size`` to ``size``, and not zero."""
    value = base.whole(rng, 1, size)
    return -value if rng.random() < 0.5 else value


def bracketed(value: Number) -> str:
    """A number as a factor or after a sign: in brackets where it is negative."""
    text = ratio_text(value)
    return f"({text})" if value < 0 else text


def later(value: Number) -> str:
    """A number as a later term of a sum: `` + 3``, `` - 3``, nothing for zero."""
    if not value:
        return ""
    return f" - {ratio_text(-value)}" if value < 0 else f" + {ratio_text(value)}"


def linear(coefficients: Sequence[Number], letters: Sequence[str], constant: Number = 0) -> str:
    """``2x - y + 3``, in the order of the letters."""
    text = ""
    for coefficient, letter in zip(coefficients, letters, strict=True):
        if not coefficient:
            continue
        size = ratio_text(-coefficient if coefficient < 0 else coefficient)
        size = f"{'' if size == '1' else size}{letter}"
        if text:
            text += f" - {size}" if coefficient < 0 else f" + {size}"
        else:
            text = f"-{size}" if coefficient < 0 else size
    if text:
        return text + later(constant)
    return ratio_text(constant)


_LINEAR = re.compile(r" ?([-+]?) ?(\\frac\{[0-9]+\}\{[0-9]+\}|[0-9]+)?([a-z]?)")


def read_linear(text: str, letters: Sequence[str]) -> tuple[list[Number], Number]:
    """Coefficients and constant of what ``linear`` wrote; a ValueError where it is none."""
    found: dict[str, Number] = dict.fromkeys(["", *letters], 0)
    at = 0
    while at < len(text):
        match = _LINEAR.match(text, at)
        if match is None or match.end() == at or match[3] not in found:
            raise ValueError(f"no linear form: {text!r}")
        size: Number = 1
        if match[2]:
            digits = match[2].isdecimal()
            size = int(match[2]) if digits else polynomials.plain_number(read_ratio(match[2]))
        found[match[3]] += -size if match[1] == "-" else size
        at = match.end()
    return [found[letter] for letter in letters], found[""]


def factor(root: Number, letter: str = "x") -> str:
    """``x - root`` as a factor: ``(x - 2)``, ``x`` for zero."""
    return f"({letter}{later(-root)})" if root else letter


def fraction(above: str, below: str) -> str:
    return f"\\frac{{{above}}}{{{below}}}"


def ratio(above: int, below: int) -> Number:
    """``above / below`` exactly, an integer where it is whole."""
    return above // below if above % below == 0 else Fraction(above, below)


def listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
