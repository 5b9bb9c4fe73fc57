"""A program that decides: ``verify(answer)`` is called with the text of an answer.

It is run in the sandbox and nowhere else (``limite.problems.verifiers.checker``). Here it is only
read: whether it is Python at all, and what it may take.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.problems.answers.kind import Params
from limite.problems.reading.faults import Undecided, Unreadable
from limite.problems.sandbox.limits import MIB, Limits, limits_of

CHARACTERS = 64_000
"""The longest program."""

MOST = {"cpu_s": 60.0, "wall_s": 120.0, "memory_bytes": 4096 * MIB}
"""What a record may ask for its program; other limits are not a record's to set."""

ENTRY = "verify"


@attrs.frozen(kw_only=True)
class Checker:
    """A program, and what each of its runs may take."""

    source: str
    limits: Limits


def read(text: str, params: Params) -> Checker:
    if not text.strip():
        raise Unreadable("a checker program is missing")
    if len(text) > CHARACTERS:
        raise Unreadable(f"a checker program of more than {CHARACTERS:,} characters")
    limits = _limits(params.get("limits", {}))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        raise Unreadable(f"a checker program that is no Python: {error}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable("a checker program that cannot be parsed") from error
    return Checker(source=text, limits=limits)


def show(value: Checker, params: Params) -> str:
    return value.source


def equal(gold: Checker, given: Checker, params: Params) -> bool:
    raise Undecided("a checker program is run in the sandbox, and compared with nothing")


def _limits(asked: Any) -> Limits:
    if not isinstance(asked, Mapping):
        raise Unreadable("the 'limits' of a checker program are a table")
    wrong = [f"{name!r} is no limit of a checker program" for name in asked if name not in MOST]
    for name in sorted(set(asked) & set(MOST)):
        value = asked[name]
        if isinstance(value, (int, float)) and value > MOST[name]:
            wrong.append(f"{name!r} is at most {MOST[name]:g} for a checker program")
    if wrong:
        raise Unreadable("; ".join(wrong))
    try:
        return limits_of(asked)
    except LimiteError as error:
        raise Unreadable(str(error)) from error
