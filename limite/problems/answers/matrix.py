"""Matrices: LaTeX environments, lists of rows, with or without a factor in front."""

from __future__ import annotations

from limite.problems.algebra.same import same
from limite.problems.answers.kind import Params, constant, expression_of, stated
from limite.problems.reading import plain
from limite.problems.reading import tree as t
from limite.problems.reading.faults import Unreadable
from limite.problems.reading.parser import parse
from limite.problems.reading.printer import text_of
from limite.problems.reading.tokens import Notation
from limite.problems.reading.tree import Tree

Rows = tuple[tuple[Tree, ...], ...]


def read(text: str, params: Params) -> Rows:
    text = stated(text, params)
    plainly = plain.table(text)
    if plainly is not None:
        return plainly
    tree = parse(text, Notation())
    if tree[0] == "relation":
        parts = tree[1]
        if len(parts) != 3 or parts[1] != "=" or parts[0][0] != "sym":
            raise Unreadable("a relation where a matrix was asked for")
        tree = parts[2]
    factors: list[Tree] = []
    if tree[0] == "mul":
        factors = [part for part in tree[1] if part[0] != "matrix"]
        matrices = [part for part in tree[1] if part[0] == "matrix"]
        if len(matrices) != 1:
            raise Unreadable("no single matrix")
        tree = matrices[0]
    return tuple(
        tuple(constant(expression_of(t.mul([*factors, entry]))) for entry in row)
        for row in _rows(tree)
    )


def _rows(tree: Tree) -> Rows:
    if tree[0] == "group" and len(tree[3]) == 1 and tree[3][0][0] == "matrix":
        tree = tree[3][0]
    if tree[0] == "matrix":
        rows: Rows = tree[1]
        return rows
    if tree[0] != "group" or (tree[1], tree[2]) != ("[", "]"):
        raise Unreadable("no matrix")
    found = []
    for row in tree[3]:
        if row[0] != "group" or (row[1], row[2]) != ("[", "]") or not row[3]:
            raise Unreadable("a row that is no list")
        found.append(tuple(row[3]))
    if not found or len({len(row) for row in found}) != 1:
        raise Unreadable("a matrix with rows of different lengths")
    return tuple(found)


def show(value: Rows, params: Params) -> str:
    rows = (",".join(text_of(entry) for entry in row) for row in value)
    return "[" + ",".join(f"[{row}]" for row in rows) + "]"


def equal(gold: Rows, given: Rows, params: Params) -> bool:
    return (
        len(gold) == len(given)
        and len(gold[0]) == len(given[0])
        and all(
            same(left, right)
            for row, other in zip(gold, given, strict=True)
            for left, right in zip(row, other, strict=True)
        )
    )
