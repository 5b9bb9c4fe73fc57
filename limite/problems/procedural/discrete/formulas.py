"""Formulas of propositional logic: drawn, written in LaTeX, read back and evaluated."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import attrs

from limite.problems.procedural import base

LETTERS = "pqrst"
_SIGNS = {"and": "\\wedge", "or": "\\vee", "if": "\\to", "same": "\\leftrightarrow"}
_NAMES = {sign: name for name, sign in _SIGNS.items()}
_TOKEN = re.compile(r"\\[a-z]+|[()]|[p-t]")


@attrs.frozen
class Formula:
    """A letter, or a connective (not, and, or, if, same) with its one or two parts."""

    kind: str
    parts: tuple[Formula, ...] = ()


def drawn(rng: random.Random, letters: int, connectives: int) -> Formula:
    """A formula in the first ``letters`` letters, each of them at least once."""
    known = LETTERS[:letters]
    more = max(connectives + 1 - letters, 0)
    names = [*known, *(base.chosen(rng, known) for _ in range(more))]
    parts = [_maybe_not(rng, Formula(name)) for name in base.shuffled(rng, names)]
    while len(parts) > 1:
        place = int(rng.random() * (len(parts) - 1))
        pair = (parts[place], parts[place + 1])
        kind = base.chosen(rng, ("and", "or", "if", "and", "or", "if", "same"))
        parts[place : place + 2] = [_maybe_not(rng, Formula(kind, pair))]
    return parts[0]


def _maybe_not(rng: random.Random, formula: Formula) -> Formula:
    return Formula("not", (formula,)) if rng.random() < 0.25 else formula


def text_of(formula: Formula, *, outer: bool = True) -> str:
    """LaTeX, with parentheses around every part of two."""
    if not formula.parts:
        return formula.kind
    if formula.kind == "not":
        return f"\\neg {text_of(formula.parts[0], outer=False)}"
    left, right = (text_of(part, outer=False) for part in formula.parts)
    body = f"{left} {_SIGNS[formula.kind]} {right}"
    return body if outer else f"({body})"


def column(formula: Formula, letters: int) -> int:
    """The truth table as bits: bit ``i`` is the value where letter ``k`` is bit ``k`` of ``i``."""
    rows = 1 << letters
    if not formula.parts:
        place = LETTERS.index(formula.kind)
        block = ((1 << (1 << place)) - 1) << (1 << place)
        bits = 0
        for start in range(0, rows, 2 << place):
            bits |= block << start
        return bits
    inside = [column(part, letters) for part in formula.parts]
    return _joined(formula.kind, inside, (1 << rows) - 1)


Tree = str | tuple["Tree", ...]
"""A formula as it is read: a letter, or its parts with the signs between them."""


def read(text: str) -> Tree:
    """The parts of a formula in LaTeX."""
    stack: list[list[Tree]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            inner = tuple(stack.pop())
            stack[-1].append(inner)
        else:
            stack[-1].append(token)
    return tuple(stack[0])


def holds(tree: Tree, truths: Sequence[bool]) -> bool:
    """Whether a formula is true for these values of its letters in order."""
    if isinstance(tree, str):
        return truths[LETTERS.index(tree)]
    turned, place = False, 0
    while tree[place] == "\\neg":
        turned = not turned
        place += 1
    first = holds(tree[place], truths) != turned
    if place + 1 == len(tree):
        return first
    kind, rest = _NAMES[str(tree[place + 1])], tree[place + 2 :]
    if kind == "and":
        return first and holds(rest, truths)
    if kind == "or":
        return first or holds(rest, truths)
    return not first or holds(rest, truths) if kind == "if" else first == holds(rest, truths)


def tables(formula: Formula, letters: int) -> dict[str, int]:
    """The truth table of every part with a connective by its text, inner parts first."""
    found: dict[str, int] = {}

    def visit(part: Formula) -> tuple[str, int]:
        if not part.parts:
            return part.kind, column(part, letters)
        inside = [visit(each) for each in part.parts]
        bits = _joined(part.kind, [bits for _, bits in inside], (1 << (1 << letters)) - 1)
        if part.kind == "not":
            text = f"\\neg {inside[0][0]}"
            found[text] = bits
            return text, bits
        text = f"{inside[0][0]} {_SIGNS[part.kind]} {inside[1][0]}"
        found[text] = bits
        return f"({text})", bits

    visit(formula)
    return found


def _joined(kind: str, parts: Sequence[int], every: int) -> int:
    if kind == "not":
        return every ^ parts[0]
    left, right = parts
    if kind == "and":
        return left & right
    if kind == "or":
        return left | right
    return (every ^ left) | right if kind == "if" else every ^ left ^ right
