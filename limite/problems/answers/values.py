"""Single values and ordered ones, as they stand in sets, tuples and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from limite.problems.algebra.same import order, same
from limite.problems.answers.kind import constant, expression_of
from limite.problems.reading.faults import TooLarge, Undecided, Unreadable
from limite.problems.reading.printer import text_of
from limite.problems.reading.tree import Tree

Value = Tree  # an expression without letters, or ("tuple", values)

UNSORTED = 60  # the most values that are compared one by one


def value_of(tree: Tree) -> Value:
    """One value: a number, or several in round or angle brackets."""
    if tree[0] == "group" and (tree[1], tree[2]) in (("(", ")"), ("<", ">")):
        return ("tuple", tuple(value_of(item) for item in tree[3]))
    return constant(expression_of(tree))


def equal_values(left: Value, right: Value) -> bool:
    if left[0] == "tuple" or right[0] == "tuple":
        return (
            left[0] == right[0]
            and len(left[1]) == len(right[1])
            and all(equal_values(*pair) for pair in zip(left[1], right[1], strict=True))
        )
    return same(left, right)


def distinct(values: Sequence[Value]) -> list[Value]:
    """The values without repeats."""
    kept = list(dict.fromkeys(values))
    hard = [value for value in kept if value[0] != "num"]
    if len(hard) > UNSORTED:
        raise TooLarge(f"more than {UNSORTED} values that are no plain numbers")
    found: list[Value] = []
    for value in kept:
        if value[0] == "num" or not any(equal_values(value, each) for each in found):
            found.append(value)
    return found


def equal_sets(left: Sequence[Value], right: Sequence[Value]) -> bool:
    """Whether both hold the same values; neither has repeats."""
    if len(left) != len(right):
        return False
    waiting = set(right) - set(left)
    return all(
        any(equal_values(value, each) for each in waiting) for value in set(left) - set(right)
    )


def in_order(values: Sequence[Value]) -> list[Value]:
    """By size where they are real numbers, otherwise by how they are written."""
    try:
        return sorted(values, key=cmp_to_key(_compare))
    except (Undecided, Unreadable):
        return sorted(values, key=written)


def _compare(left: Value, right: Value) -> int:
    if left[0] == "tuple" or right[0] == "tuple":
        if left[0] != right[0]:
            return -1 if right[0] == "tuple" else 1
        for pair in zip(left[1], right[1], strict=False):
            found = _compare(*pair)
            if found:
                return found
        return len(left[1]) - len(right[1])
    return order(left, right)


def written(value: Value) -> str:
    if value[0] == "tuple":
        return f"({','.join(written(each) for each in value[1])})"
    return text_of(value)
