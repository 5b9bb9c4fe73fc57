"""Ordered values: bare, in round or angle brackets, or by the names of coordinates."""

from __future__ import annotations

from limite.problems.answers.kind import Params, stated
from limite.problems.answers.values import Value, equal_values, value_of, written
from limite.problems.reading import plain
from limite.problems.reading.faults import Unreadable
from limite.problems.reading.parser import parse
from limite.problems.reading.tokens import Notation
from limite.problems.reading.tree import Tree


def names_of(params: Params, key: str = "variables") -> tuple[str, ...]:
    names = params.get(key, ())
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise Unreadable(f"{key!r} is a list of names, not {names!r}")
    return tuple(names)


def read(text: str, params: Params) -> Value:
    names = names_of(params)
    text = stated(text, params)
    plainly = plain.enclosed(text, "tuple")
    if plainly is not None:
        return ("tuple", plainly)
    tree = parse(text, Notation(names=names))
    named = _named(tree, names)
    if named is not None:
        return ("tuple", tuple(value_of(named[name]) for name in names))
    if tree[0] == "list":
        if set(tree[2]) != {","}:
            raise Unreadable("alternatives where one tuple was asked for")
        return ("tuple", tuple(value_of(item) for item in tree[1]))
    found = value_of(tree)
    return found if found[0] == "tuple" else ("tuple", (found,))


def _named(tree: Tree, names: tuple[str, ...]) -> dict[str, Tree] | None:
    """Coordinates by name: ``x=1, y=2`` in any order, or ``(y,x)=(2,1)``; None for a plain one."""
    if tree[0] == "list" and all(item[0] == "relation" for item in tree[1]):
        if "or" in tree[2]:
            raise Unreadable("alternatives where one tuple was asked for")
        sides = [item[1] for item in tree[1]]
    elif tree[0] == "relation":
        parts = tree[1]
        if len(parts) != 3 or parts[1] != "=":
            raise Unreadable("a relation where a tuple was asked for")
        left, right = parts[0], parts[2]
        if left[0] == "sym" and len(names) != 1:
            raise Unreadable("one name where a tuple was asked for")
        if left[0] != "group" or right[0] != "group" or len(left[3]) != len(right[3]):
            raise Unreadable("names and values that do not fit")
        if (left[1], right[1]) != ("(", "("):
            raise Unreadable("no round brackets around names or values")
        sides = [(name, "=", value) for name, value in zip(left[3], right[3], strict=True)]
    else:
        return None
    found: dict[str, Tree] = {}
    for parts in sides:
        if len(parts) != 3 or parts[1] != "=" or parts[0][0] != "sym" or parts[0][1] in found:
            raise Unreadable("a coordinate that is not given by its name once")
        found[parts[0][1]] = parts[2]
    if set(found) != set(names):
        raise Unreadable("other coordinates than those declared")
    return found


def show(value: Value, params: Params) -> str:
    return written(value)


def equal(gold: Value, given: Value, params: Params) -> bool:
    return equal_values(gold, given)
