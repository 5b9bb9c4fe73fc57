"""What every type of answer offers, and reading helpers that they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from limite.problems.algebra.same import same
from limite.problems.reading import tree as t
from limite.problems.reading.decoration import bare, without_unit
from limite.problems.reading.faults import Unreadable
from limite.problems.reading.parser import parse
from limite.problems.reading.tokens import Notation
from limite.problems.reading.tree import Tree

Params = Mapping[str, Any]


class AnswerType(Protocol):
    """A module that reads, writes and compares one type of answer."""

    def read(self, text: str, params: Params) -> Any:
        """The value a text states; raises Unreadable or WrongForm."""
        ...

    def show(self, value: Any, params: Params) -> str:
        """The canonical text of a value."""
        ...

    def equal(self, gold: Any, given: Any, params: Params) -> bool: ...


SCALAR = Notation(grouped=True, scientific=True)


def stated(text: str, params: Params) -> str:
    """The answer without decoration and without the declared unit."""
    unit = params.get("unit")
    text = bare(text, currency=unit == "$")
    return bare(without_unit(text, unit), currency=unit == "$") if unit else text


def scalar(text: str, params: Params, notation: Notation = SCALAR) -> Tree:
    """The one expression a text states; ``x = 42`` states what stands on the right."""
    return expression_of(parse(stated(text, params), notation))


def expression_of(tree: Tree) -> Tree:
    """The right side of an assignment to one name, or the expression itself."""
    if tree[0] == "num":
        return tree
    if tree[0] == "relation":
        parts = tree[1]
        if len(parts) != 3 or parts[1] != "=" or parts[0][0] != "sym":
            raise Unreadable("a relation where one value was asked for")
        tree = parts[2]
    if tree[0] == "list":
        raise Unreadable("several values where one was asked for")
    if tree[0] == "group" and len(tree[3]) == 1 and tree[1] == "{":
        tree = tree[3][0]
    if not t.is_arithmetic(tree):
        raise Unreadable("no single number or expression")
    return tree


def constant(tree: Tree) -> Tree:
    """A tree without letters; a plus-minus sign is no number either."""
    if tree[0] == "num":
        return tree
    names = t.names_in(tree)
    if names:
        raise Unreadable(f"the letter {min(names)!r} has no value")
    if any(node == t.INFINITY for node in t.nodes(tree)):
        raise Unreadable("infinity is no number")
    return tree


def equal_constants(left: Tree, right: Tree) -> bool:
    return same(left, right)
