"""Fractions, compared exactly; with ``form`` ``lowest`` they must also be written so."""

from __future__ import annotations

import re
from fractions import Fraction

from limite.problems.answers.kind import Params, constant, equal_constants, scalar, stated
from limite.problems.reading import tree as t
from limite.problems.reading.faults import Unreadable, WrongForm
from limite.problems.reading.numbers import ratio_text
from limite.problems.reading.parser import plain_number
from limite.problems.reading.tokens import normalised
from limite.problems.reading.tree import Tree

_WHOLE = re.compile(r"([-+]?)\s*([0-9]+)")
_RATIO = re.compile(
    r"([-+]?)\s*(?:\\[dtc]?frac\s*(?:\{\s*(-?)\s*([0-9]+)\s*\}|([0-9]))\s*"
    r"(?:\{\s*([0-9]+)\s*\}|([0-9]))|([0-9]+)\s*/\s*([0-9]+))"
)


def read(text: str, params: Params) -> Tree:
    form = params.get("form", "any")
    if form not in ("any", "lowest"):
        raise Unreadable(f"the form of a rational is 'any' or 'lowest', not {form!r}")
    number = plain_number(text)
    if number is not None and (form == "any" or _plainly(text) == str(number)):
        return ("num", number)
    found = constant(scalar(text, params))
    if form == "lowest" and not _is_lowest(normalised(stated(text, params)), found):
        raise WrongForm("no fraction in lowest terms")
    return found


def _plainly(text: str) -> str:
    """``a/b`` for a plain fraction in LaTeX."""
    return text.replace("\\frac{", "").replace("}{", "/").rstrip("}")


def _is_lowest(text: str, value: Tree) -> bool:
    """Whether the digits written are those of the fraction in lowest terms."""
    text = text.replace("−", "-")
    if value[0] != "num":
        return False
    exact: Fraction = value[1]
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return exact.denominator == 1
    ratio = _RATIO.fullmatch(text)
    if ratio is None:
        return False
    above = ratio[3] or ratio[4] or ratio[7]
    below = ratio[5] or ratio[6] or ratio[8]
    return t.number(Fraction(int(below[:4000]))) == t.number(exact.denominator) and t.number(
        Fraction(int(above[:4000]))
    ) == t.number(abs(exact.numerator))


def show(value: Tree, params: Params) -> str:
    if value[0] != "num":
        raise Unreadable("no fraction of whole numbers")
    return ratio_text(value[1])


def equal(gold: Tree, given: Tree, params: Params) -> bool:
    return equal_constants(gold, given)
