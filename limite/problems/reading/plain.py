"""Reads the plainest answers without a parser: lists and tables of numbers, and polynomials.

Each function gives what the parser would, or None where it takes one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from limite.problems.reading import tree as t
from limite.problems.reading.parser import plain_number
from limite.problems.reading.tree import Tree

LONGEST = 2_000
"""Characters up to which the limits of the parser cannot be met."""

_PAIRS = {"tuple": (("(", ")"),), "set": (("{", "}"), ("\\{", "\\}"))}


def numbers(text: str) -> tuple[Tree, ...] | None:
    """Two numbers or more between commas."""
    parts = text.split(",")
    if len(parts) < 2:
        return None
    return _trees(parts)


def enclosed(text: str, kind: str) -> tuple[Tree, ...] | None:
    """Numbers in the brackets of a ``tuple`` or a ``set``."""
    if len(text) > LONGEST:
        return None
    for opening, closing in _PAIRS[kind]:
        if text.startswith(opening) and text.endswith(closing):
            return numbers(text[len(opening) : -len(closing)])
    return None


_ROWS = re.compile(r"\[\[[-0-9/, ]+(?:\],\[[-0-9/, ]+)*\]\]")
_OPENING, _CLOSING = "\\begin{pmatrix}", "\\end{pmatrix}"


def table(text: str) -> tuple[tuple[Tree, ...], ...] | None:
    """A matrix of numbers, as nested lists or between LaTeX's round brackets."""
    if len(text) > LONGEST:
        return None
    if text.startswith(_OPENING) and text.endswith(_CLOSING):
        lines = text[len(_OPENING) : -len(_CLOSING)].split("\\\\")
        rows = [_trees(line.split("&")) for line in lines]
    elif _ROWS.fullmatch(text):
        rows = [_trees(line.split(",")) for line in text[2:-2].split("],[")]
    else:
        return None
    found = [row for row in rows if row]
    if len(found) < len(rows) or len({len(row) for row in found}) != 1:
        return None
    return tuple(found)


def _trees(parts: Sequence[str]) -> tuple[Tree, ...] | None:
    found = []
    for part in parts:
        number = plain_number(part.strip(" "))
        if number is None:
            return None
        found.append(("num", number))
    return tuple(found)


_SIZE = r"[0-9]{1,40}|\\frac\{[0-9]{1,40}\}\{[0-9]{1,40}\}"
_TERM = re.compile(
    rf"(?P<sign>[-+]?)(?:(?P<size>{_SIZE})?(?P<letter>[a-z])|"
    r"(?P<factor>[0-9]{1,40}(?:/[0-9]{1,40})?)\*(?P<times>[a-z])|"
    rf"(?P<number>[0-9]{{1,40}}(?:/[0-9]{{1,40}})?|{_SIZE})(?![a-z*^/]))"
    r"(?:\^(?:(?P<digit>[2-9])(?![0-9])|\{(?P<digits>[1-9][0-9])\}))?"
)


def polynomial(text: str, names: Sequence[str]) -> Tree | None:
    """A sum of powers of one letter with numbers before them: ``3x^2 - x``, ``3*x^2-x``."""
    if len(names) != 1 or len(names[0]) != 1 or names[0] in "ei" or len(text) > LONGEST:
        return None
    text = text.replace(" + ", "+").replace(" - ", "-")
    terms: list[Tree] = []
    place = 0
    while place < len(text):
        match = _TERM.match(text, place)
        if match is None or (place and not match["sign"]) or (not place and match["sign"] == "+"):
            return None
        place = match.end()
        size = match["size"] or match["factor"] or match["number"] or "1"
        number = plain_number(size)
        if number is None:
            return None
        letter, power = match["letter"] or match["times"], match["digit"] or match["digits"]
        if match["sign"] == "-":
            number = -number
        if letter is None:
            if power is not None:
                return None
            terms.append(t.number(number))
            continue
        if letter != names[0]:
            return None
        base: Tree = ("sym", letter)
        if power is not None:
            base = t.power(base, t.number(int(power)))
        terms.append(t.mul([t.number(number), base]))
    return t.add(terms) if terms else None


def sides(text: str, names: Sequence[str]) -> Tree | None:
    """An equation between polynomials of one letter each, which may be two letters: y=x^2-3."""
    parts = [part.strip(" ") for part in text.split("=")]
    if len(parts) != 2:
        return None
    found = []
    for part in parts:
        trees = (polynomial(part, (name,)) for name in names)
        tree = next((each for each in trees if each is not None), None)
        if tree is None:
            return None
        found.append(tree)
    return ("relation", (found[0], "=", found[1]))


Interval = tuple[Tree, bool, Tree, bool]  # low end, whether it belongs, high end, whether it does
_INFINITE = {
    "oo": t.INFINITY,
    "\\infty": t.INFINITY,
    "-oo": t.negative(t.INFINITY),
    "-\\infty": t.negative(t.INFINITY),
}


def intervals(text: str) -> list[Interval] | None:
    """A union of intervals between numbers or infinities, as they are written."""
    if len(text) > LONGEST:
        return None
    found: list[Interval] = []
    for part in text.replace(" \\cup ", "U").split("U"):
        ends = part[1:-1].split(",")
        if part[:1] not in ("(", "[") or part[-1:] not in (")", "]") or len(ends) != 2:
            return None
        trees = [_end(each.strip(" ")) for each in ends]
        if trees[0] is None or trees[1] is None:
            return None
        found.append((trees[0], part[0] == "[", trees[1], part[-1] == "]"))
    return found


def _end(text: str) -> Tree | None:
    number = plain_number(text)
    return ("num", number) if number is not None else _INFINITE.get(text)
