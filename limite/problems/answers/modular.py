"""Residue classes: any whole number of the class, by modular powers where it is huge."""

from __future__ import annotations

from limite.problems.answers.kind import Params, constant, stated
from limite.problems.reading import tree as t
from limite.problems.reading.faults import TooLarge, Unreadable
from limite.problems.reading.numbers import digits_of
from limite.problems.reading.parser import parse
from limite.problems.reading.tokens import Notation
from limite.problems.reading.tree import Tree

_NOTATION = Notation(grouped=True, scientific=True)


def modulus_of(params: Params) -> int:
    modulus = params.get("modulus")
    if isinstance(modulus, str) and modulus.isascii() and modulus.isdigit() and len(modulus) < 4000:
        modulus = int(modulus)
    if isinstance(modulus, bool) or not isinstance(modulus, int) or modulus < 1:
        raise Unreadable("a residue class without a modulus above zero")
    return modulus


def read(text: str, params: Params) -> int:
    modulus = modulus_of(params)
    tree = parse(stated(text, params), _NOTATION)
    if tree[0] == "modulo":
        if tree[2] != t.number(modulus):
            raise Unreadable("another modulus")
        tree = tree[1]
    if tree[0] == "relation":
        parts = tree[1]
        if len(parts) != 3 or parts[1] != "=" or parts[0][0] != "sym":
            raise Unreadable("a relation where one residue was asked for")
        tree = parts[2]
    if not t.is_arithmetic(tree):
        raise Unreadable("no whole number")
    return residue(constant(tree), modulus)


def residue(tree: Tree, modulus: int) -> int:
    """The residue of an expression in whole numbers; powers are never built."""
    kind = tree[0]
    if kind == "num":
        if tree[1].denominator != 1:
            raise Unreadable("no whole number")
        return int(tree[1]) % modulus
    if kind == "add":
        return sum(residue(part, modulus) for part in tree[1]) % modulus
    if kind == "mul":
        product = 1
        for part in tree[1]:
            product = product * residue(part, modulus) % modulus
        return product
    if kind == "pow":
        if tree[2][0] != "num":
            raise TooLarge("an exponent that is too large")
        if (
            tree[2][1].denominator != 1
            or tree[2][1] < 0
            or tree[2][1].numerator.bit_length() > 9000
        ):
            raise Unreadable("no whole number")
        return pow(residue(tree[1], modulus), int(tree[2][1]), modulus)
    raise Unreadable("no whole number")


def show(value: int, params: Params) -> str:
    return digits_of(value)


def equal(gold: int, given: int, params: Params) -> bool:
    return gold == given
