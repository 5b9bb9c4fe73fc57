"""Whether two expressions are equal: proved, refuted, or honestly undecided."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from fractions import Fraction

from limite.problems.algebra.normal import Forms
from limite.problems.algebra.numeric import apart, real_sign, rough_sign
from limite.problems.reading.faults import TooLarge, Undecided, Unreadable
from limite.problems.reading.tree import Tree, names_in

POINTS = 6


def same(left: Tree, right: Tree, *, names: Collection[str] = (), domain: str = "real") -> bool:
    """Whether two expressions in ``names`` are equal all over the domain.

    Normal forms come first; then points at which the two certainly differ refute; then sympy
    proves. Agreement at points alone proves nothing and raises Undecided.
    """
    if left[0] == "num" and right[0] == "num":
        return bool(left[1] == right[1])
    if left == right:
        return True
    for name in sorted(names_in(left) | names_in(right)):
        if name not in names:
            raise Unreadable(f"the letter {name!r} was not declared")
    if rough_sign(left, right):
        return False
    forms = Forms()
    try:
        if forms.equal(left, right):
            # A denominator may be zero in a way that the kernels do not show.
            return forms.complete or not forms.divided or defined(left, right, domain)
        if forms.complete:
            return False
    except TooLarge:
        pass  # the other ways have limits of their own
    if refuted(left, right, domain):
        return False
    from limite.problems.algebra.symbolic import proved_equal

    if proved_equal(left, right, positive=domain == "positive"):
        return True
    raise Undecided("the two agree wherever they were compared, but no proof was found")


def refuted(left: Tree, right: Tree, domain: str) -> bool:
    """Whether the two differ at one of a few rational points, always the same ones."""
    return any(apart(left, right, point) for point in points(left, right, domain))


def defined(left: Tree, right: Tree, domain: str) -> bool:
    """Whether both have a value at one of those points at least."""
    return any(apart(left, right, point) is not None for point in points(left, right, domain))


def points(left: Tree, right: Tree, domain: str) -> Iterator[dict[str, Fraction]]:
    used = sorted(names_in(left) | names_in(right))
    draws = random.Random(1)
    for _ in range(POINTS if used else 1):
        values = {name: Fraction(draws.randint(-300, 300) * 2 + 1, 211) for name in used}
        if domain == "positive":
            values = {name: abs(value) for name, value in values.items()}
        yield values


def order(left: Tree, right: Tree) -> int:
    """-1, 0 or 1 as a real constant is below, equal to or above another."""
    if left[0] == "num" and right[0] == "num":
        return int(left[1] > right[1]) - int(left[1] < right[1])
    sign = real_sign(left, right)
    if sign:
        return sign
    if same(left, right):
        return 0
    raise Undecided("two numbers that are too close to be put in order")
