"""Equations, equal up to a constant factor that is not zero and terms moved across."""

from __future__ import annotations

from limite.problems.algebra.normal import Forms, Monomial, Polynomial
from limite.problems.answers.kind import Params, stated
from limite.problems.answers.tuple import names_of
from limite.problems.reading import plain
from limite.problems.reading import tree as t
from limite.problems.reading.faults import Undecided, Unreadable
from limite.problems.reading.parser import parse
from limite.problems.reading.printer import text_of
from limite.problems.reading.tokens import Notation
from limite.problems.reading.tree import Tree

Sides = tuple[Tree, Tree]


def read(text: str, params: Params) -> Sides:
    names = names_of(params)
    text = stated(text, params)
    plainly = plain.sides(text, names)
    tree = plainly if plainly is not None else parse(text, Notation(names=names))
    if tree[0] != "relation" or len(tree[1]) != 3 or tree[1][1] != "=":
        raise Unreadable("no single equation")
    left, _, right = tree[1]
    if not t.is_arithmetic(left) or not t.is_arithmetic(right):
        raise Unreadable("an equation of what are no expressions")
    undeclared = (t.names_in(left) | t.names_in(right)) - set(names)
    if undeclared:
        raise Unreadable(f"the letter {min(undeclared)!r} was not declared")
    if not _moved(Forms(), (left, right))[0]:
        raise Unreadable("an equation that always holds")
    return left, right


def _moved(forms: Forms, sides: Sides) -> tuple[Polynomial, Polynomial]:
    return forms.form(t.add([sides[0], t.negative(sides[1])]))


def show(value: Sides, params: Params) -> str:
    return f"{text_of(value[0])}={text_of(value[1])}"


def equal(gold: Sides, given: Sides, params: Params) -> bool:
    if gold == given:
        return True
    forms = Forms()
    above, below = _moved(forms, gold)
    other_above, other_below = _moved(forms, given)
    if _proportional(forms, above, other_above) and _proportional(forms, below, other_below):
        return True
    if forms.complete:
        return False
    raise Undecided("equations that are not shown to be a multiple of each other")


def _proportional(forms: Forms, left: Polynomial, right: Polynomial) -> bool:
    """Whether one is a constant times the other; constants are what holds no variable."""
    mine, others = _by_variables(forms, left), _by_variables(forms, right)
    if set(mine) != set(others):
        return False
    first = min(mine)
    return all(
        forms.times(mine[each], others[first]) == forms.times(others[each], mine[first])
        for each in mine
    )


def _by_variables(forms: Forms, polynomial: Polynomial) -> dict[Monomial, Polynomial]:
    """The coefficients, which may hold roots and pi, of each product of everything else."""
    found: dict[Monomial, Polynomial] = {}
    constants = {
        index
        for key, index in forms.kernels.items()
        if key in ("pi", "i") or (key[0] == "root" and isinstance(key[1], int))
    }
    for monomial, value in polynomial.items():
        outer = tuple(part for part in monomial if part[0] not in constants)
        inner = tuple(part for part in monomial if part[0] in constants)
        found.setdefault(outer, {})[inner] = value
    return found
