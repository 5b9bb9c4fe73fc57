"""Values of expressions to many digits: to tell numbers apart and to put them in order."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from limite.problems.reading.faults import TooLarge, Unreadable
from limite.problems.reading.tree import Tree

DIGITS = (100, 500)
"""Decimal digits that values are computed with: at first, and again where that tells nothing."""

SPARE = 40
"""Numbers count as different where they differ in all but the last 40 digits, relative to the
largest number met on the way. What rounding does stays below that: no answer that may be read has
the 10^40 operations, or a loss of forty digits in one, that would reach it."""

_LOCAL = threading.local()


class Undefined(Exception):
    """The expression has no value here: a pole, or the logarithm of zero."""


def context() -> Any:
    """This thread's own arithmetic, so that nobody's precision is changed."""
    if not hasattr(_LOCAL, "context"):
        import mpmath

        _LOCAL.context = mpmath.MPContext()
    return _LOCAL.context


class Evaluation:
    """Evaluates trees and remembers the size of the largest number on the way."""

    def __init__(self, values: Mapping[str, Fraction], digits: int = DIGITS[0]) -> None:
        self.mp = context()
        self.mp.dps = digits
        self.values = {name: self.ratio(value) for name, value in values.items()}
        self.largest = self.mp.mpf(1)

    def ratio(self, value: Fraction) -> Any:
        return self.mp.mpf(value.numerator) / value.denominator

    def bound(self) -> Any:
        """More than the error of anything computed so far."""
        return self.largest * self.mp.mpf(10) ** (SPARE - self.mp.dps)

    def value(self, tree: Tree) -> Any:
        try:
            found = self.node(tree)
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise Undefined from error
        return found

    def sized(self, value: Any) -> Any:
        size = abs(value)
        if not self.mp.isfinite(size):
            raise Undefined
        if size > self.largest:
            self.largest = size
            if self.mp.mag(size) > 100_000:
                raise TooLarge("a number that is too large")
        return value

    def node(self, tree: Tree) -> Any:
        kind = tree[0]
        if kind == "num":
            return self.sized(self.ratio(tree[1]))
        if kind == "sym":
            if tree[1] not in self.values:
                raise Unreadable(f"the letter {tree[1]!r} was not declared")
            return self.values[tree[1]]
        if kind == "const":
            if tree[1] == "oo":
                raise Unreadable("infinity is no number")
            return {"pi": +self.mp.pi, "e": +self.mp.e, "i": self.mp.mpc(0, 1)}[tree[1]]
        if kind == "add":
            total = self.mp.mpf(0)
            for part in tree[1]:
                total += self.node(part)
            return self.sized(total)
        if kind == "mul":
            product = self.mp.mpf(1)
            for part in tree[1]:
                product *= self.node(part)
            return self.sized(product)
        if kind == "pow":
            return self.power(tree)
        if kind == "call":
            return self.call(tree[1], self.node(tree[2][0]))
        raise Unreadable("no expression")

    def power(self, tree: Tree) -> Any:
        base = self.mp.e if tree[1] == ("const", "e") else self.node(tree[1])
        by = self.node(tree[2])
        size = abs(base)
        if size == 0:
            if self.mp.re(by) <= 0:
                raise Undefined
            return self.mp.mpf(0)
        magnitude = abs(by) * (abs(self.mp.ln(size)) + 4)
        if magnitude > 60_000:
            raise TooLarge("a power that is too large")
        # A sum that ought to be zero but is not, to the last digits, has no telling power.
        if size < self.bound():
            raise Undefined
        return self.sized(self.mp.power(base, by))

    def call(self, name: str, inside: Any) -> Any:
        if abs(inside) > 60_000 and name not in ("ln", "abs"):
            raise TooLarge(f"too large an argument of {name}")
        if name == "abs":
            return abs(inside)
        known = getattr(self.mp, name, None)
        if known is None:
            raise Unreadable(f"the function {name} is not known")
        return self.sized(known(inside))


def apart(left: Tree, right: Tree, values: Mapping[str, Fraction]) -> bool | None:
    """Whether both are certainly different at a point; None where one of them has no value."""
    for digits in DIGITS:
        evaluation = Evaluation(values, digits)
        try:
            difference = abs(evaluation.value(left) - evaluation.value(right))
        except Undefined:
            return None
        if difference > evaluation.bound():
            return True
        if evaluation.largest < 10**10:
            break
    return False


def real_value(tree: Tree, digits: int = DIGITS[0]) -> tuple[Any, Any]:
    """A constant's real value and a bound on its error; Unreadable where it is not real."""
    evaluation = Evaluation({}, digits)
    try:
        value = evaluation.value(tree)
    except Undefined as error:
        raise Unreadable("it has no value") from error
    if abs(evaluation.mp.im(value)) > evaluation.bound():
        raise Unreadable("it is no real number")
    return evaluation.mp.re(value), evaluation.bound()


_STEP = 2.0**-50
"""More than what rounding changes in one operation on doubles, relative to the result."""
_LEAST = 1e-280
_MOST = 1e140
_HALF, _INVERSE = Fraction(1, 2), Fraction(-1)


def rough(tree: Tree) -> tuple[float, float] | None:
    """A real constant as a double, with a bound on its error, where only sums, products, quotients
    and square roots lead to it; None for others, and for numbers of unusual size."""
    kind = tree[0]
    if kind == "num":
        number = tree[1]
        if number.numerator.bit_length() > 400 or number.denominator.bit_length() > 400:
            return None
        value, error = number.numerator / number.denominator, 0.0
    elif kind == "add":
        value = error = 0.0
        for part in tree[1]:
            found = rough(part)
            if found is None:
                return None
            value += found[0]
            error += found[1] + abs(value) * _STEP
    elif kind == "mul":
        value, error = 1.0, 0.0
        for part in tree[1]:
            found = rough(part)
            if found is None:
                return None
            error = abs(value) * found[1] + abs(found[0]) * error + error * found[1]
            value *= found[0]
            error += abs(value) * _STEP
    elif kind == "pow" and tree[2][0] == "num" and tree[2][1] in (_HALF, _INVERSE):
        found = rough(tree[1])
        if found is None or abs(found[0]) <= 2 * found[1]:
            return None
        if tree[2][1] == _HALF:
            if found[0] < 0:
                return None
            value = math.sqrt(found[0])
            error = found[1] / value
        else:
            value = 1 / found[0]
            error = 2 * found[1] * value * value
    else:
        return None
    if not abs(value) + error < _MOST:
        return None
    return value, error + abs(value) * _STEP + _LEAST


def rough_sign(left: Tree, right: Tree) -> int:
    """-1 or 1 where doubles show that a real constant is below or above another, otherwise 0."""
    first = rough(left)
    second = None if first is None else rough(right)
    if first is None or second is None:
        return 0
    gap = first[0] - second[0]
    if abs(gap) <= 2 * (first[1] + second[1]):
        return 0
    return 1 if gap > 0 else -1


def real_sign(left: Tree, right: Tree) -> int:
    """-1 or 1 as a real constant is certainly below or above another, 0 where that is not clear."""
    sign = rough_sign(left, right)
    if sign:
        return sign
    for digits in DIGITS:
        value, error = real_value(left, digits)
        other, other_error = real_value(right, digits)
        if abs(value - other) > error + other_error:
            return 1 if value > other else -1
    return 0
