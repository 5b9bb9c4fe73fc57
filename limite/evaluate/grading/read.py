"""What of a response is its answer, as the four published grading protocols read it."""

from __future__ import annotations

import re
from collections.abc import Iterator

CLOSING = "</think>"
LAST = 64
"""How many distinct candidates the permissive protocol looks at, from the end."""

_BOX = re.compile(r"\\boxed\s*\{")
_MATHS = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$|\\\((.+?)\\\)", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])[-+\u2212]?\d+(?:,\d{3})*(?:\.\d+)?(?:/\d+)?(?!\w)")
_STATED = re.compile(r"(?:final\s+)?answer(?:\s+is\s*:?|\s*[:=])\s*(\S.*)", re.IGNORECASE)


def is_unclosed(text: str) -> bool:
    """Whether thinking was opened and nothing after it closes any."""
    return "<think>" in text and CLOSING not in text


def region(text: str) -> str:
    """Where the answer stands: behind the last end of thinking, or everywhere."""
    return text[text.rfind(CLOSING) + len(CLOSING) :] if CLOSING in text else text


def braced(text: str, start: int) -> str | None:
    """What stands in the braces that open before ``start``; None where they never close."""
    depth, at = 1, start
    while at < len(text):
        mark = text[at]
        if mark == "\\":
            at += 2
            continue
        depth += (mark == "{") - (mark == "}")
        if not depth:
            return text[start:at]
        at += 1
    return None


def strict_box(text: str) -> str | None:
    """The content of the last box of the region; None where it is empty or never closes."""
    within = region(text)
    last = _last(within)
    found = None if last is None else braced(within, last)
    return (found or "").strip() or None


def unboxed(gold: str) -> str:
    """A gold answer without the box that it may stand in."""
    gold = gold.strip()
    match = _BOX.match(gold)
    if match is not None:
        inner = braced(gold, match.end())
        if inner is not None and gold[match.end() + len(inner) + 1 :].strip() == "":
            return inner.strip()
    return gold


def lenient(text: str) -> str | None:
    """What the response most likely means: the first of several readings that there is.

    A balanced box; else the rest behind a last box that never closes; else of the last line that is
    not empty what follows "answer is", else its last inline formula, else its last number.
    """
    within = region(text)
    strict = strict_box(text)
    if strict is not None:
        return strict
    balanced = [each for each in _boxes(within) if each.strip()]
    if balanced:
        return balanced[-1].strip()
    last = _last(within)
    if last is not None:
        rest = within[last:].strip().rstrip("}").strip()
        if rest:
            return rest
    lines = [line.strip() for line in within.splitlines() if line.strip()]
    line = lines[-1] if lines else ""
    stated = _STATED.search(line)
    if stated is not None:
        return _tidy(stated[1])
    formulas = [each for _, each in _formulas(line)]
    if formulas:
        return formulas[-1]
    numbers = _NUMBER.findall(line)
    return _plain(numbers[-1]) if numbers else None


def candidates(text: str) -> list[str]:
    """Every box, inline formula and number of a response, thinking included: the last 64."""
    found = [(match.end(), braced(text, match.end())) for match in _BOX.finditer(text)]
    placed = [(at, each.strip()) for at, each in found if each and each.strip()]
    placed += _formulas(text)
    placed += [(match.start(), _plain(match[0])) for match in _NUMBER.finditer(text)]
    placed.sort(key=lambda each: each[0])
    distinct: dict[str, None] = {}
    for _, each in reversed(placed):
        distinct.setdefault(each)
        if len(distinct) == LAST:
            break
    return list(distinct)


def _last(text: str) -> int | None:
    ends = [match.end() for match in _BOX.finditer(text)]
    return ends[-1] if ends else None


def _boxes(text: str) -> Iterator[str]:
    for match in _BOX.finditer(text):
        inner = braced(text, match.end())
        if inner is not None:
            yield inner


def _formulas(text: str) -> list[tuple[int, str]]:
    return [
        (match.start(), inner.strip())
        for match in _MATHS.finditer(text)
        for inner in (match[1] or match[2] or match[3],)
        if inner.strip()
    ]


def _tidy(text: str) -> str:
    """What was stated, out of the dollar signs and the full stop around it."""
    text = text.strip().rstrip(".").strip()
    formulas = _formulas(text)
    return formulas[0][1] if formulas and text[0] in "$\\" else text.strip("*").strip()


def _plain(number: str) -> str:
    return number.replace(",", "").replace("\u2212", "-").lstrip("+")
