"""Polynomials in one letter as tuples of coefficients, written, read back and computed with.

``(1, -1, 3)`` is 3x^2 - x + 1: the coefficient of x^k stands at k, the last one is not zero, and
zero is ``()``. Coefficients are integers, or fractions where no integer would do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

Number = Fraction | int
Polynomial = tuple[Number, ...]
X: Polynomial = (0, 1)


def polynomial(coefficients: Iterable[Number]) -> Polynomial:
    """From coefficients, lowest first: whole fractions as integers, without zeros at the end."""
    kept = [each if type(each) is int else plain_number(each) for each in coefficients]
    while kept and not kept[-1]:
        kept.pop()
    return tuple(kept)


def plain_number(value: Number) -> Number:
    """A fraction that is whole as an integer."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def quotient(above: Number, below: Number) -> Number:
    """``above / below``, an integer where it is whole."""
    if isinstance(above, int) and isinstance(below, int) and above % below == 0:
        return above // below
    return plain_number(Fraction(above) / below)


# Text


def latex(terms: Polynomial, letter: str = "x") -> str:
    """``3x^2 - x + \\frac{1}{2}``, highest power first."""
    text = ""
    for power in range(len(terms) - 1, -1, -1):
        coefficient = terms[power]
        if coefficient:
            text += _sign(coefficient, text)
            size = -coefficient if coefficient < 0 else coefficient
            if size != 1 or power == 0:
                text += _latex_number(size)
            if power > 1:
                text += f"{letter}^{power}" if power < 10 else f"{letter}^{{{power}}}"
            elif power:
                text += letter
    return text or "0"


def plain(terms: Polynomial, letter: str = "x") -> str:
    """``3*x^2-x+1/2``: the canonical notation of answers."""
    text = ""
    for power in range(len(terms) - 1, -1, -1):
        coefficient = terms[power]
        if coefficient:
            text += _sign(coefficient, text).replace(" ", "")
            size = abs(coefficient)
            if size != 1 or power == 0:
                text += f"{size}*" if power else str(size)
            if power > 1:
                text += f"{letter}^{power}"
            elif power:
                text += letter
    return text or "0"


def _sign(coefficient: Number, before: str) -> str:
    if not before:
        return "-" if coefficient < 0 else ""
    return " - " if coefficient < 0 else " + "


def _latex_number(size: Number) -> str:
    if isinstance(size, int):
        return str(size)
    return f"\\frac{{{size.numerator}}}{{{size.denominator}}}"


_SIZE = r"\\frac\{[0-9]+\}\{[0-9]+\}|[0-9]+"
_PIECE = rf"(?:(?:{_SIZE})?x(?:\^(?:[0-9]|\{{[0-9]+\}}))?|{_SIZE})"
PATTERN = rf"-?{_PIECE}(?: [-+] {_PIECE})*"
"""What ``latex`` writes in the letter x."""
_TERM = re.compile(
    r" ?([-+]?) ?(?:\\frac\{([0-9]+)\}\{([0-9]+)\}|([0-9]+))?"
    r"(?:([a-z])(?:\^(?:([0-9])|\{([0-9]+)\}))?)?"
)


def read(text: str, letter: str = "x") -> Polynomial:
    """The polynomial that ``latex`` wrote as ``text``; a ValueError where it is none."""
    found: dict[int, Number] = {}
    at = 0
    while at < len(text) or not text:
        match = _TERM.match(text, at)
        if match is None or match.end() == at:
            raise ValueError(f"no polynomial: {text!r}")
        sign, above, below, size, name, digit, digits = match.groups()
        if name not in (None, letter) or not (above or size or name) or (at and not sign):
            raise ValueError(f"no polynomial in {letter}: {text!r}")
        if above:
            coefficient: Number = quotient(int(above), int(below))
        else:
            coefficient = int(size) if size else 1
        power = 0 if name is None else int(digit or digits or 1)
        found[power] = found.get(power, 0) + (-coefficient if sign == "-" else coefficient)
        at = match.end()
    return polynomial(found.get(power, 0) for power in range(max(found, default=-1) + 1))


# Computing


def degree(terms: Polynomial) -> int:
    """The highest power; -1 for zero."""
    return len(terms) - 1


def value(terms: Polynomial, at: Number) -> Number:
    """The value at a point."""
    total: Number = 0
    for coefficient in reversed(terms):
        total = total * at + coefficient
    return plain_number(total)


def plus(*parts: Polynomial) -> Polynomial:
    """The sum."""
    total: list[Number] = [0] * max(map(len, parts), default=0)
    for terms in parts:
        for power, coefficient in enumerate(terms):
            total[power] += coefficient
    return polynomial(total)


def scaled(terms: Polynomial, by: Number) -> Polynomial:
    """A number times the polynomial."""
    return polynomial(by * coefficient for coefficient in terms)


def minus(left: Polynomial, right: Polynomial) -> Polynomial:
    """The difference."""
    return plus(left, scaled(right, -1))


def times(*factors: Polynomial) -> Polynomial:
    """The product."""
    product: list[Number] = [1]
    for terms in factors:
        if not terms:
            return ()
        total: list[Number] = [0] * (len(product) + len(terms) - 1)
        for power, coefficient in enumerate(terms):
            if coefficient:
                for other, further in enumerate(product):
                    total[power + other] += coefficient * further
        product = total
    return polynomial(product)


def raised(terms: Polynomial, exponent: int) -> Polynomial:
    """The power with a natural exponent."""
    return times(*[terms] * exponent)


def with_roots(roots: Iterable[Number], lead: Number = 1) -> Polynomial:
    """The product of the factors x - root, times ``lead``."""
    return scaled(times(*((-root, 1) for root in roots)), lead)


def divided(above: Polynomial, below: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and remainder."""
    if not below:
        raise ZeroDivisionError("a division by the zero polynomial")
    rest = list(above)
    found: list[Number] = [0] * max(len(above) - len(below) + 1, 0)
    for power in range(len(found) - 1, -1, -1):
        factor = quotient(rest[power + len(below) - 1], below[-1])
        found[power] = factor
        if factor:
            for other, coefficient in enumerate(below):
                rest[power + other] -= factor * coefficient
    return polynomial(found), polynomial(rest[: len(below) - 1])


def composed(outer: Polynomial, inner: Polynomial) -> Polynomial:
    """``outer`` with ``inner`` in place of x."""
    total: Polynomial = ()
    for coefficient in reversed(outer):
        total = plus(times(total, inner), (coefficient,))
    return total


def derivative(terms: Polynomial) -> Polynomial:
    return polynomial(power * terms[power] for power in range(1, len(terms)))


def through(points: Sequence[tuple[Number, Number]]) -> Polynomial:
    """The polynomial of lowest degree through points (x, y) with different x."""
    total: Polynomial = ()
    basis: Polynomial = (1,)
    for x, y in points:  # by Newton: each step keeps the earlier points and meets one more
        step = quotient(y - value(total, x), value(basis, x))
        if step:
            total = plus(total, scaled(basis, step))
        basis = times(basis, (-x, 1))
    return total
