"""Finite sets: in braces, as a list, with plus-minus, or as the values of a variable."""

from __future__ import annotations

from collections.abc import Iterator

from limite.problems.answers.kind import Params, stated
from limite.problems.answers.values import (
    Value,
    distinct,
    equal_sets,
    in_order,
    value_of,
    written,
)
from limite.problems.reading import plain
from limite.problems.reading import tree as t
from limite.problems.reading.faults import Unreadable
from limite.problems.reading.parser import parse
from limite.problems.reading.tokens import Notation
from limite.problems.reading.tree import Tree

Values = tuple[Value, ...]


def read(text: str, params: Params) -> Values:
    variable = params.get("variable")
    if variable is not None and not isinstance(variable, str):
        raise Unreadable(f"'variable' is a name, not {variable!r}")
    names = () if variable is None else (variable,)
    text = stated(text, params)
    plainly = plain.enclosed(text, "set")
    if plainly is not None:
        return tuple(distinct(plainly))
    tree = parse(text, Notation(names=names))
    return tuple(distinct(list(_members(tree, variable))))


def _members(tree: Tree, variable: str | None) -> Iterator[Value]:
    if tree == ("empty",):
        return
    if tree[0] == "list":
        for item in tree[1]:
            yield from _alternatives(_value_side(item, variable))
    elif tree[0] == "relation":
        inside = _value_side(tree, variable)
        if tree[1][1] == "in" and inside[0] != "group":
            raise Unreadable("a membership in what is no set")
        yield from _members(inside, None)
    elif tree[0] == "group" and tree[1] in ("{", "\\{"):
        for item in tree[3]:
            yield from _alternatives(item)
    elif tree[0] == "union":
        for part in tree[1]:
            if part[0] not in ("group", "union", "empty"):
                raise Unreadable("a union of what are no sets")
            yield from _members(part, None)
    else:
        yield from _alternatives(tree)


def _value_side(tree: Tree, variable: str | None) -> Tree:
    """What stands on the right of ``x =`` or ``x in``, for the declared variable alone."""
    if tree[0] != "relation":
        return tree
    parts = tree[1]
    named = len(parts) == 3 and parts[0][0] == "sym" and parts[1] in ("=", "in")
    if not named or (parts[1] == "=" and parts[0][1] != variable):
        raise Unreadable("a relation that gives no value of the declared variable")
    value: Tree = parts[2]
    return value


def _alternatives(tree: Tree) -> Iterator[Value]:
    if "±" not in t.names_in(tree):
        yield value_of(tree)
        return
    for sign in (t.ONE, t.MINUS_ONE):
        yield value_of(t.substitute(tree, {"±": sign}))


def show(value: Values, params: Params) -> str:
    return "{" + ",".join(written(each) for each in in_order(value)) + "}"


def equal(gold: Values, given: Values, params: Params) -> bool:
    return equal_sets(gold, given)
