"""Whole numbers, in any base from 2 to 36, with or without a declared unit."""

from __future__ import annotations

import re

from limite.problems.answers.kind import Params, constant, equal_constants, scalar, stated
from limite.problems.reading import tree as t
from limite.problems.reading.faults import Unreadable
from limite.problems.reading.numbers import BITS, digits_of
from limite.problems.reading.tree import Tree

_PLAIN = re.compile(r"-?[0-9]{1,4000}")
_BASED = re.compile(r"([-+\u2212]?)\s*([0-9A-Za-z]+)(?:_(?:\{([0-9]+)\}|([0-9]+)))?")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base_of(params: Params) -> int:
    base = params.get("base", 10)
    if isinstance(base, bool) or not isinstance(base, int) or not 2 <= base <= 36:
        raise Unreadable(f"the base {base!r} is no whole number from 2 to 36")
    return base


def read(text: str, params: Params) -> Tree:
    base = base_of(params)
    if base != 10:
        return t.number(_in_base(stated(text, params), base))
    if _PLAIN.fullmatch(text):
        return t.number(int(text))
    found = constant(scalar(text, params))
    if found[0] == "num" and found[1].denominator != 1:
        raise Unreadable("no whole number")
    return found


def _in_base(text: str, base: int) -> int:
    match = _BASED.fullmatch(text)
    if match is None or len(match[2]) * base.bit_length() > BITS:
        raise Unreadable(f"no number in base {base}")
    named = match[3] or match[4]
    if named is not None and (len(named) > 2 or int(named) != base):
        raise Unreadable(f"a number in another base than {base}")
    value = 0
    for digit in match[2].lower():
        size = _DIGITS.index(digit)
        if size >= base:
            raise Unreadable(f"{digit!r} is no digit in base {base}")
        value = value * base + size
    return value if match[1] in ("", "+") else -value


def show(value: Tree, params: Params) -> str:
    base = base_of(params)
    if value[0] != "num":
        raise Unreadable("no whole number in digits")
    number = value[1].numerator
    if base == 10:
        return digits_of(number)
    digits, rest = [], abs(number)
    while rest:
        rest, digit = divmod(rest, base)
        digits.append(_DIGITS[digit])
    return ("-" if number < 0 else "") + "".join(reversed(digits or ["0"]))


def equal(gold: Tree, given: Tree, params: Params) -> bool:
    return equal_constants(gold, given)
