"""The answer types there are, by name; answers from plain data, and in canonical form."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from limite.core.errors import LimiteError, did_you_mean
from limite.core.types import Answer
from limite.problems.answers.kind import AnswerType
from limite.problems.reading.faults import Undecided, Unreadable, WrongForm

TYPES = tuple(
    sorted(
        [
            "boolean",
            "choice",
            "complex",
            "equation",
            "expression",
            "integer",
            "interval",
            "matrix",
            "modular",
            "rational",
            "real",
            "set",
            "string",
            "tuple",
        ]
    )
)
"""The types whose answers are compared by value."""

CHECKED = ("python",)
"""The types whose value is a program that decides, in the sandbox."""


@cache
def _module(name: str) -> AnswerType:
    return cast(AnswerType, importlib.import_module(f"limite.problems.answers.{name}"))


def type_of(name: str) -> AnswerType:
    """The module of an answer type; an Unreadable where there is none of the name."""
    known = (*TYPES, *CHECKED)
    if name not in known:
        raise Unreadable(f"unknown answer type {name!r}{did_you_mean(name, known)}")
    return _module(name)


def canonical(answer: Answer) -> Answer:
    """The answer with its value in canonical form; a LimiteError where it is malformed."""
    try:
        kind = type_of(answer.type)
        value = kind.show(kind.read(answer.value, answer.params), answer.params)
    except (Unreadable, WrongForm, Undecided) as error:
        shown = answer.value if len(answer.value) <= 80 else f"{answer.value[:80]}..."
        raise LimiteError(f"no answer of type {answer.type!r}: {shown!r}: {error}") from error
    return Answer(type=answer.type, value=value, params=answer.params)


def answer_of(data: Answer | Mapping[str, Any]) -> Answer:
    """An answer from plain data, as records hold it."""
    if isinstance(data, Answer):
        return data
    if not isinstance(data, Mapping):
        raise LimiteError(f"an answer is a record's answer object, not {type(data).__name__}")
    extra = set(data) - {"type", "value", "params"}
    if extra or not {"type", "value"} <= set(data):
        raise LimiteError(
            f"an answer has 'type', 'value' and 'params', not {sorted(data, key=str)}"
        )
    kind, value, params = data["type"], data["value"], data.get("params", {})
    if not isinstance(kind, str) or not isinstance(value, str) or not isinstance(params, Mapping):
        raise LimiteError("an answer's 'type' and 'value' are text and its 'params' a table")
    return Answer(type=kind, value=value, params=params)
