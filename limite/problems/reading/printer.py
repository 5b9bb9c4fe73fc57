"""Writes expressions in the plain notation of canonical answers, which reads back the same."""

from __future__ import annotations

from fractions import Fraction

from limite.problems.reading.faults import Unreadable
from limite.problems.reading.numbers import digits_of, ratio_text
from limite.problems.reading.tree import Tree

_HALF = ("num", Fraction(1, 2))


def text_of(tree: Tree) -> str:
    """The expression as text; reading it gives the same tree."""
    kind = tree[0]
    if kind == "num":
        return ratio_text(tree[1])
    if kind in ("sym", "const"):
        return str(tree[1])
    if kind == "add":
        written = ""
        for part in tree[1]:
            piece = text_of(part)
            written += piece if not written or piece.startswith("-") else f"+{piece}"
        return written
    if kind == "mul":
        return _product(tree[1])
    if kind == "pow":
        if tree[2] == _HALF:
            return f"sqrt({text_of(tree[1])})"
        return f"{_tight(tree[1])}^{_tight(tree[2])}"
    if kind == "call":
        return f"{tree[1]}({','.join(text_of(part) for part in tree[2])})"
    raise Unreadable("no expression")


def _product(factors: tuple[Tree, ...]) -> str:
    sign = ""
    if factors[0][0] == "num" and factors[0][1] < 0:
        sign = "-"
        size = -factors[0][1]
        factors = factors[1:] if size == 1 else (("num", size), *factors[1:])
    return sign + "*".join(
        f"({text_of(part)})" if part[0] == "add" else text_of(part) for part in factors
    )


def _tight(tree: Tree) -> str:
    """As a base or an exponent: in brackets unless it cannot be mistaken."""
    alone = tree[0] in ("sym", "const") or (
        tree[0] == "num" and tree[1].denominator == 1 and tree[1] >= 0
    )
    return text_of(tree) if alone else f"({text_of(tree)})"


def decimal_of(value: Fraction) -> str | None:
    """The decimal digits of a number, where they end."""
    below, twos, fives = value.denominator, 0, 0
    while below % 2 == 0:
        below, twos = below // 2, twos + 1
    while below % 5 == 0:
        below, fives = below // 5, fives + 1
    if below != 1:
        return None
    places = max(twos, fives)
    digits = digits_of(abs(value.numerator) * 10**places // value.denominator)
    digits = digits.rjust(places + 1, "0")
    whole, part = (digits[:-places], digits[-places:]) if places else (digits, "")
    return ("-" if value < 0 else "") + whole + (f".{part}" if part else "")
