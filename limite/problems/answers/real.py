"""Real numbers within a stated tolerance: absolute, relative to the gold answer, or in decimals.

With ``form`` ``decimal`` they must also be written as decimal numbers: a question that asks for a
rounded value is not answered by the expression it states.
"""

from __future__ import annotations

import re
from fractions import Fraction

from limite.problems.algebra.numeric import real_sign, real_value
from limite.problems.algebra.same import same
from limite.problems.answers.kind import SCALAR, Params, constant, scalar, stated
from limite.problems.reading import tree as t
from limite.problems.reading.faults import Undecided, Unreadable, WrongForm
from limite.problems.reading.parser import parse
from limite.problems.reading.printer import decimal_of, text_of
from limite.problems.reading.tokens import normalised
from limite.problems.reading.tree import Tree

_DECIMAL = re.compile(
    r"""
    (?: .*? (?: = | \\approx ))?  # a name for it
    \s* [-+]? \s*
    [0-9]* (?: (?: , | \{,\} | \\, | ,\\! | \s ) [0-9]{3} )*  # digits, maybe in groups
    (?: \. [0-9]* )?
    (?: \s* [eE] \s* [-+]? [0-9]+
      | \s* (?: \* | \\times | \\cdot ) \s* 10 \s* \^ \s*
        (?: [0-9] | \{ \s* [-+]? \s* [0-9]+ \s* \} )
    )?
    \s*
    """,
    re.VERBOSE | re.DOTALL,
)


def read(text: str, params: Params) -> Tree:
    _tolerances(params)
    form = params.get("form", "any")
    if form not in ("any", "decimal"):
        raise Unreadable(f"the form of a real number is 'any' or 'decimal', not {form!r}")
    found = constant(scalar(text, params))
    if form == "decimal" and not _DECIMAL.fullmatch(normalised(stated(text, params))):
        raise WrongForm("no decimal number")
    if found[0] != "num":
        real_value(found)
    return found


def _tolerances(params: Params) -> tuple[Fraction, Fraction]:
    """The absolute and the relative one; at least one of them must be declared."""
    absolute = [_size(params["abs_tol"])] if "abs_tol" in params else []
    relative = _size(params["rel_tol"]) if "rel_tol" in params else None
    if "decimals" in params:
        decimals = params["decimals"]
        if isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= 1000:
            raise Unreadable(f"'decimals' is a whole number from 0 to 1000, not {decimals!r}")
        absolute.append(Fraction(1, 2 * 10**decimals))
    if not absolute and relative is None:
        raise Unreadable("a real number without 'abs_tol', 'rel_tol' or 'decimals'")
    return max(absolute, default=Fraction(0)), relative or Fraction(0)


def _size(given: object) -> Fraction:
    tree = parse(str(given), SCALAR)
    if tree[0] != "num" or tree[1] < 0:
        raise Unreadable(f"a tolerance is a number that is not negative, not {given!r}")
    size: Fraction = tree[1]
    return size


def show(value: Tree, params: Params) -> str:
    decimal = decimal_of(value[1]) if value[0] == "num" else None
    return text_of(value) if decimal is None else decimal


def equal(gold: Tree, given: Tree, params: Params) -> bool:
    absolute, relative = _tolerances(params)
    if gold[0] == "num":
        bound = t.number(max(absolute, relative * abs(gold[1])))
    else:
        size = ("call", "abs", (gold,))
        scaled = t.mul([t.number(relative), size])
        bound = scaled if _above(scaled, t.number(absolute)) else t.number(absolute)
    difference = t.add([given, t.negative(gold)])
    if difference[0] == "num" and bound[0] == "num":
        return bool(abs(difference[1]) <= bound[1])
    return not _above(("call", "abs", (difference,)), bound)


def _above(left: Tree, right: Tree) -> bool:
    """Whether a real constant is above another; bounds are inclusive, so a tie is not."""
    sign = real_sign(left, right)
    if sign:
        return sign > 0
    if left[0] == "call" and any(same(inner, right) for inner in _both_signs(left[2][0])):
        return False
    raise Undecided("the difference is too close to the tolerance")


def _both_signs(tree: Tree) -> tuple[Tree, Tree]:
    return tree, t.negative(tree)
