"""Replies read as the one JSON object that was asked for: tolerantly, and without guessing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

MOST_CHARACTERS = 200_000
MOST_STARTS = 2_000
THOUGHT = "</think>"
# Numbers stay the text they are: a float would lose digits that nobody could name.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)
_PAIR = re.compile(r"\\(u[0-9A-Fa-f]{4}|[\"\\/bfnrt]|)", re.DOTALL)
_COMMAND = re.compile(
    r"\\([bfrt](?=[A-Za-z])"
    r"|(?=n(?:abla|atural|cong|e|earrow|eg|eq|ewline|exists|geq|i|leq|mid|ot|otin|u)(?![A-Za-z])))"
)


class Misread(Exception):
    """A reply that is not what was asked for; the reason in a word or two."""


@attrs.frozen(kw_only=True)
class Written:
    """A problem as its writer gave it."""

    problem: str
    answer_type: str
    answer: str
    program: str


def written(text: str) -> Written:
    """The problem of a reply."""
    found = last_object(text, "problem")
    answer = found.get("answer")
    if isinstance(answer, bool):  # the only value that is no text by now, and no number
        answer = "true" if answer else "false"
    return Written(
        problem=text_of(found, "problem").strip(),
        answer_type=text_of(found, "answer_type").strip().lower(),
        answer=text_of({"answer": answer}, "answer"),
        program=text_of(last_object(text, "problem", latex=False), "program"),
    )


def program_of(text: str) -> str:
    """The program of a solver's reply."""
    return text_of(last_object(text, "program", latex=False), "program")


@attrs.frozen(kw_only=True)
class Reading:
    """What an examiner found in a problem's text."""

    assumptions: tuple[str, ...]
    answers: str


def reading_of(text: str) -> Reading:
    """The examiner's reply."""
    found = last_object(text, "answers")
    listed, answers = found.get("assumptions"), found.get("answers")
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise Misread("assumptions is not a list of texts")
    if answers not in ("one", "several", "none"):
        raise Misread("answers is not one, several or none")
    return Reading(assumptions=tuple(each for each in listed if each.strip()), answers=answers)


def text_of(found: Mapping[str, Any], name: str) -> str:
    """A text of an object; a Misread where it has none of that name."""
    value = found.get(name)
    if not isinstance(value, str):
        raise Misread(f"{name} is missing" if value is None else f"{name} is not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misread(f"{name} has half a surrogate pair") from None
    return value


def last_object(text: str, key: str, *, latex: bool = True) -> Mapping[str, Any]:
    """The last whole JSON object of a reply that has a key; a Misread where there is none.

    A backslash that begins no escape of JSON is one of LaTeX that was written once instead of
    twice. With ``latex`` so is one that begins a command where JSON would read a control character,
    as in ``\\frac``; in a program that is a new line or a tab.
    """
    text = text.rpartition(THOUGHT)[2][-MOST_CHARACTERS:]
    objects = [each for each in _objects(_mended(text, latex)) if key in each]
    if objects:
        return objects[-1]
    raise Misread("no JSON object" if "{" not in text else "no whole JSON object of the form")


def _mended(text: str, latex: bool) -> str:
    """The text with every backslash doubled that is one of LaTeX."""

    def pair(found: re.Match[str]) -> str:
        if not found[1] or (latex and _COMMAND.match(text, found.start())):
            return "\\" + found[0]
        return found[0]

    return _PAIR.sub(pair, text)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects that stand in a text, none inside another."""
    place = starts = 0
    while starts < MOST_STARTS:
        place = text.find("{", place)
        if place < 0:
            return
        starts += 1
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        yield value
