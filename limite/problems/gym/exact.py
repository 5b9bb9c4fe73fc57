"""Reads the arithmetic of others' questions and finds its exact value, as a polynomial.

Nothing is evaluated by Python: text becomes a tree, and only numbers, one letter, ``+ - * / **``
and parentheses mean anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from fractions import Fraction

Polynomial = Mapping[int, Fraction]
"""Coefficients by degree, none of them zero."""

LARGEST = 100
"""The highest power that is read."""

BITS = 10_000
"""The size of the largest number that comes up on the way."""


def value(text: str) -> Fraction:
    """The exact value of an expression without letters; a ValueError where there is none."""
    terms = polynomial(text, "")
    if set(terms) - {0}:
        raise ValueError("a letter where a number is wanted")
    return terms.get(0, Fraction(0))


def polynomial(text: str, letter: str) -> dict[int, Fraction]:
    """An expression in one letter, multiplied out."""
    return _walk(ast.parse(text.strip(), mode="eval").body, text.strip(), letter)


def _walk(node: ast.expr, text: str, letter: str) -> dict[int, Fraction]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        # From the text itself: a float would have lost digits.
        digits = ast.get_source_segment(text, node) or ""
        if re.fullmatch(r"\d*\.?\d*", digits):
            return _kept({0: Fraction(digits)})
    if isinstance(node, ast.Name) and node.id == letter:
        return {1: Fraction(1)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        sign = -1 if isinstance(node.op, ast.USub) else 1
        return {each: sign * size for each, size in _walk(node.operand, text, letter).items()}
    if isinstance(node, ast.BinOp):
        left, right = _walk(node.left, text, letter), _walk(node.right, text, letter)
        if isinstance(node.op, ast.Add):
            return plus(left, right)
        if isinstance(node.op, ast.Sub):
            return plus(left, {each: -size for each, size in right.items()})
        if isinstance(node.op, ast.Mult):
            return times(left, right)
        if isinstance(node.op, ast.Div) and set(right) == {0}:
            return {each: size / right[0] for each, size in left.items()}
        if isinstance(node.op, ast.Pow) and not set(right) - {0}:
            return _power(left, right.get(0, Fraction(0)))
    raise ValueError("no arithmetic that is read here")


def _power(base: Polynomial, exponent: Fraction) -> dict[int, Fraction]:
    if exponent.denominator != 1 or not 0 <= exponent <= LARGEST or len(base) > 1:
        raise ValueError("a power that is not read here")
    found = {0: Fraction(1)}
    for _ in range(int(exponent)):
        found = times(found, base)
    return found


def plus(left: Polynomial, right: Polynomial) -> dict[int, Fraction]:
    """The sum."""
    return _kept(
        {
            each: left.get(each, Fraction(0)) + right.get(each, Fraction(0))
            for each in {*left, *right}
        }
    )


def times(left: Polynomial, right: Polynomial) -> dict[int, Fraction]:
    """The product; one of too high a degree is a ValueError."""
    if left and right and max(left) + max(right) > LARGEST:
        raise ValueError("a power that is not read here")
    found: dict[int, Fraction] = {}
    for one, size in left.items():
        for other, more in right.items():
            found[one + other] = found.get(one + other, Fraction(0)) + size * more
    return _kept(found)


def integral(terms: Polynomial) -> dict[int, Fraction]:
    """An antiderivative, without its constant."""
    return {each + 1: size / (each + 1) for each, size in terms.items()}


def written(terms: Polynomial, letter: str) -> str:
    """The polynomial in plain notation: ``3*x^2-x/2`` as ``3*x^2+(-1/2)*x^1``, to be read back."""
    parts = [
        f"({size})*{letter}^{each}" if each else f"({size})" for each, size in sorted(terms.items())
    ]
    return "+".join(parts) or "0"


def _kept(terms: dict[int, Fraction]) -> dict[int, Fraction]:
    if any(size.numerator.bit_length() > BITS for size in terms.values()):
        raise ValueError("a number too large")
    return {each: size for each, size in terms.items() if size}
