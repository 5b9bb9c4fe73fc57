"""Expressions in declared variables, equal where their values are all over the domain."""

from __future__ import annotations

from limite.problems.algebra.same import same
from limite.problems.answers.kind import Params, stated
from limite.problems.answers.tuple import names_of
from limite.problems.reading import plain
from limite.problems.reading import tree as t
from limite.problems.reading.faults import Unreadable
from limite.problems.reading.parser import parse
from limite.problems.reading.printer import text_of
from limite.problems.reading.tokens import Notation
from limite.problems.reading.tree import Tree

_POINTS = (1, 2, -1, 3)


def read(text: str, params: Params) -> Tree:
    names = names_of(params)
    if params.get("domain", "real") not in ("real", "positive"):
        raise Unreadable(f"the domain is 'real' or 'positive', not {params['domain']!r}")
    if params.get("up_to") not in (None, "constant"):
        raise Unreadable(f"'up_to' is 'constant' or nothing, not {params['up_to']!r}")
    text = stated(text, params)
    plainly = plain.polynomial(text, names)
    tree = plainly if plainly is not None else parse(text, Notation(names=names))
    if tree[0] == "relation":
        tree = _right_side(tree, names)
    if tree[0] == "group" and len(tree[3]) == 1 and tree[1] == "{":
        tree = tree[3][0]
    if not t.is_arithmetic(tree) or any(node == t.INFINITY for node in t.nodes(tree)):
        raise Unreadable("no single expression")
    if params.get("up_to") == "constant" and "C" not in names:
        terms = tree[1] if tree[0] == "add" else (tree,)
        tree = t.add([term for term in terms if term not in (("sym", "C"), _MINUS_C)])
    undeclared = t.names_in(tree) - set(names)
    if undeclared:
        raise Unreadable(f"the letter {min(undeclared)!r} was not declared")
    return tree


_MINUS_C = t.negative(("sym", "C"))


def _right_side(tree: Tree, names: tuple[str, ...]) -> Tree:
    """Of ``f(x) = ...`` and ``y = ...``, where the name on the left is no variable."""
    parts = tree[1]
    if len(parts) == 3 and parts[1] == "=":
        left = parts[0]
        factors = left[1] if left[0] == "mul" else (left,)
        letters = [factor[1] for factor in factors if factor[0] == "sym"]
        named = len(letters) == len(factors) <= 2 and letters[0] not in names
        if named and all(letter in names for letter in letters[1:]):
            right: Tree = parts[2]
            return right
    raise Unreadable("an equation or a relation where an expression was asked for")


def show(value: Tree, params: Params) -> str:
    return text_of(value)


def equal(gold: Tree, given: Tree, params: Params) -> bool:
    names, domain = names_of(params), params.get("domain", "real")
    if params.get("up_to") != "constant":
        return same(gold, given, names=names, domain=domain)
    if gold == given:
        return True
    difference = t.add([gold, t.negative(given)])
    used = t.names_in(difference)
    for point in _POINTS:
        try:
            fixed = t.substitute(difference, dict.fromkeys(used, t.number(point)))
        except Unreadable:
            continue  # a pole
        return same(difference, fixed, names=names, domain=domain)
    raise Unreadable("no point at which it has a value")
