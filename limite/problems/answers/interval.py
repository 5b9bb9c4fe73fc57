"""Intervals and unions of them: brackets, inequalities in the declared variable, set algebra."""

from __future__ import annotations

from limite.problems.answers.kind import Params, constant, expression_of, stated
from limite.problems.answers.pieces import (
    EVERYTHING,
    HIGH,
    LOW,
    Piece,
    Pieces,
    both,
    complement,
    is_infinite,
    merged,
    piece,
    same_pieces,
)
from limite.problems.reading import plain
from limite.problems.reading import tree as t
from limite.problems.reading.faults import Unreadable
from limite.problems.reading.parser import parse
from limite.problems.reading.printer import text_of
from limite.problems.reading.tokens import Notation
from limite.problems.reading.tree import Tree

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def read(text: str, params: Params) -> Pieces:
    variable = params.get("variable")
    if variable is not None and not isinstance(variable, str):
        raise Unreadable(f"'variable' is a name, not {variable!r}")
    names = () if variable is None else (variable,)
    text = stated(text, params)
    plainly = plain.intervals(text)
    if plainly is not None:
        return merged([piece(*each) for each in plainly])
    tree = parse(text, Notation(names=names, intervals=True))
    return _pieces(tree, variable)


def _pieces(tree: Tree, variable: str | None) -> Pieces:
    kind = tree[0]
    if kind == "reals":
        return EVERYTHING
    if kind == "empty":
        return ()
    if kind == "union":
        return merged([one for part in tree[1] for one in _pieces(part, None)])
    if kind == "minus":
        return both(_pieces(tree[1], None), complement(_pieces(tree[2], None)))
    if kind == "list":
        return _joined(tree, variable)
    if kind == "relation":
        return _solved(tree[1], variable)
    if kind == "group" and tree[1] in ("{", "\\{"):
        points = [_end(item) for item in tree[3]]
        if any(is_infinite(point) for point in points):
            raise Unreadable("infinity is no number")
        return merged([(point, True, point, True) for point in points])
    if kind == "group" and len(tree[3]) == 2 and tree[1] in ("(", "[", "]"):
        low, high = (_end(item) for item in tree[3])
        return (piece(low, tree[1] == "[", high, tree[2] == "]"),)
    raise Unreadable("no interval")


def _joined(tree: Tree, variable: str | None) -> Pieces:
    joints = set(tree[2])
    parts = [_pieces(item, variable) for item in tree[1]]
    if joints == {"or"}:
        return merged([one for part in parts for one in part])
    if joints == {"and"}:
        found = EVERYTHING
        for part in parts:
            found = both(found, part)
        return found
    raise Unreadable("several intervals without 'and' or 'or'")


def _end(tree: Tree) -> Tree:
    found = expression_of(tree)
    return found if is_infinite(found) else constant(found)


def _solved(parts: tuple[Tree | str, ...], variable: str | None) -> Pieces:
    """The values of the declared variable for which a chain of relations holds."""
    if variable is None:
        raise Unreadable("a relation, and no variable was declared")
    if len(parts) == 3 and parts[1] == "in" and parts[0] == ("sym", variable):
        assert isinstance(parts[2], tuple)
        return _pieces(parts[2], None)
    found = EVERYTHING
    directions = set()
    for place in range(1, len(parts), 2):
        left, sign, right = parts[place - 1], parts[place], parts[place + 1]
        if not isinstance(sign, str) or sign not in _FLIPPED:
            raise Unreadable("a relation that gives no interval")
        directions.add(sign[0])
        found = both(found, _half_line(left, sign, right, variable))
    if len(parts) > 3 and directions not in ({"<"}, {">"}):
        raise Unreadable("a chain of relations that turns round")
    return found


def _half_line(left: Tree | str, sign: str, right: Tree | str, variable: str) -> Pieces:
    assert isinstance(left, tuple)
    assert isinstance(right, tuple)
    if variable in t.names_in(right):
        left, sign, right = right, _FLIPPED[sign], left
    bound = _end(right)
    if left == ("sym", variable):
        return _compared(sign, bound)
    if left[0] == "call" and left[1] == "abs":
        shift = t.add([left[2][0], t.negative(("sym", variable))])
        if variable in t.names_in(shift):
            shift = _without(left[2][0], variable)
        if is_infinite(bound):
            raise Unreadable("an absolute value beside infinity")
        above = _compared(sign, bound)
        # |x + c| lies in a set where x + c or its negative does, and it is never negative.
        here = both(above, ((t.ZERO, True, HIGH, False),))
        mirrored = [
            (t.negative(high), closed_high, t.negative(low), closed_low)
            for low, closed_low, high, closed_high in here
        ]
        return merged(
            [
                (_shifted(low, shift), closed_low, _shifted(high, shift), closed_high)
                for low, closed_low, high, closed_high in [*here, *mirrored]
            ]
        )
    raise Unreadable("a relation that is not solved for the declared variable")


def _without(inside: Tree, variable: str) -> Tree:
    """What is added to the variable, once."""
    terms = list(inside[1]) if inside[0] == "add" else [inside]
    if terms.count(("sym", variable)) != 1:
        raise Unreadable("a relation that is not solved for the declared variable")
    terms.remove(("sym", variable))
    return constant(t.add(terms))


def _shifted(end: Tree, shift: Tree) -> Tree:
    return end if is_infinite(end) else t.add([end, t.negative(shift)])


def _compared(sign: str, bound: Tree) -> Pieces:
    if is_infinite(bound):
        if (sign, bound) in (("<", HIGH), (">", LOW)):
            return EVERYTHING
        raise Unreadable("a comparison with infinity")
    below: Piece = (LOW, False, bound, sign == "<=")
    above: Piece = (bound, sign == ">=", HIGH, False)
    if sign == "=":
        return ((bound, True, bound, True),)
    if sign == "!=":
        return below, above
    return (below,) if sign[0] == "<" else (above,)


def show(value: Pieces, params: Params) -> str:
    written = [
        f"{'[' if closed_low else '('}{text_of(low)},{text_of(high)}{']' if closed_high else ')'}"
        for low, closed_low, high, closed_high in value
    ]
    return "U".join(written) or "\\emptyset"


def equal(gold: Pieces, given: Pieces, params: Params) -> bool:
    return same_pieces(gold, given)
