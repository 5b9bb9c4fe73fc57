"""True or false, yes or no, T or F."""

from __future__ import annotations

from limite.problems.answers.kind import Params
from limite.problems.reading.decoration import bare
from limite.problems.reading.faults import Unreadable

_WORDS = {"true": True, "yes": True, "t": True, "false": False, "no": False, "f": False}


def read(text: str, params: Params) -> bool:
    word = bare(text).casefold()
    if word not in _WORDS:
        raise Unreadable("neither true nor false")
    return _WORDS[word]


def show(value: bool, params: Params) -> str:
    return "true" if value else "false"


def equal(gold: bool, given: bool, params: Params) -> bool:
    return gold == given
