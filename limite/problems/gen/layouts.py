"""The layouts in which public data sets hold problems: what of a row is what."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from limite.problems.reading.extract import extract

Row = Mapping[str, Any]


class Misfit(ValueError):
    """A row that is not of the layout, with what it lacks."""


@attrs.frozen(kw_only=True)
class Found:
    """The parts of a problem in a row, and the columns that they were read from.

    ``answer`` is as the row writes it; a row that says the type and the params of its answer goes
    before what was asked for.
    """

    problem: str
    answer: str
    columns: frozenset[str]
    solution: str = ""
    program: str = ""
    kind: str = ""
    params: Mapping[str, Any] = attrs.field(factory=dict)


def _text(row: Row, *names: str) -> str:
    """The first of some columns that a row has, as text; whole numbers are written out."""
    for name in names:
        value = row.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, float):
            raise Misfit(f"{name!r} is a float, {value!r}: whether it is exact is not known")
        if value is not None and value != "":
            raise Misfit(f"{name!r}: expected text, got {type(value).__name__}")
    raise Misfit(f"no {' or '.join(map(repr, names))}")


def _maybe(row: Row, *names: str) -> str:
    values = (row.get(name) for name in names)
    return next((each.strip() for each in values if isinstance(each, str) and each.strip()), "")


def _table(row: Row, name: str) -> Mapping[str, Any]:
    """A column that holds an object, or one as JSON in text."""
    value = row.get(name)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise Misfit(f"{name!r} holds no JSON") from None
    if not isinstance(value, Mapping):
        raise Misfit(f"no object {name!r}")
    return value


def _turns(value: Any) -> str:
    """The one question of a prompt: text, or a list of messages with one user's turn."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    if not isinstance(value, list):
        raise Misfit("no 'prompt'")
    asked = [turn.get("content") for turn in value if _role(turn) == "user"]
    others = {_role(turn) for turn in value} - {"user", "system"}
    if len(asked) != 1 or others or not isinstance(asked[0], str) or not asked[0].strip():
        raise Misfit("'prompt': expected one user's turn")
    return asked[0].strip()


def _role(turn: Any) -> str:
    return str(turn.get("role")) if isinstance(turn, Mapping) else "none"


_HASHED = re.compile(r"(.*?)\n?[ \t]*####[ \t]*(\S[^\n]*?)\s*", re.DOTALL)


def hashed(row: Row) -> Found:
    """``question``, and ``answer``: a solution that ends in a line ``#### 18``."""
    text = _text(row, "answer")
    match = _HASHED.fullmatch(text)
    if match is None or "####" in match[1]:
        raise Misfit("'answer' does not end in one line '#### ...'")
    return Found(
        problem=_text(row, "question"),
        answer=match[2],
        solution=match[1].strip(),
        columns=frozenset(("question", "answer")),
    )


def boxed(row: Row) -> Found:
    """``problem``, and ``solution`` with the answer in its last box."""
    text = _text(row, "solution")
    answer = extract(text)
    if answer is None:
        raise Misfit("'solution' has no answer in a box")
    return Found(
        problem=_text(row, "problem", "question"),
        answer=answer,
        solution=text,
        columns=frozenset(("problem", "solution")),
    )


def expected(row: Row) -> Found:
    """``problem`` and ``expected_answer``, perhaps with ``generated_solution``."""
    return Found(
        problem=_text(row, "problem", "question"),
        answer=_text(row, "expected_answer"),
        solution=_maybe(row, "generated_solution"),
        columns=frozenset(("problem", "expected_answer", "generated_solution")),
    )


def plain(row: Row) -> Found:
    """``question``, ``answer`` and ``metadata``."""
    return Found(
        problem=_text(row, "question", "problem"),
        answer=_text(row, "answer"),
        columns=frozenset(("question", "problem", "answer")),
    )


def verl(row: Row) -> Found:
    """``prompt`` as messages, ``reward_model`` with the ground truth, ``extra_info``."""
    truth = _text(_table(row, "reward_model"), "ground_truth")
    more = row.get("extra_info")
    kind, params = _typed(more if isinstance(more, Mapping) else {})
    return Found(
        problem=_turns(row.get("prompt")),
        answer=truth,
        kind=kind,
        params=params,
        columns=frozenset(("prompt", "reward_model")),
    )


def verification_info(row: Row) -> Found:
    """``prompt``, ``gold_standard_solution`` and ``verification_info`` with the ground truth."""
    return Found(
        problem=_turns(row.get("prompt")),
        answer=_text(_table(row, "verification_info"), "ground_truth", "answer"),
        solution=_maybe(row, "gold_standard_solution"),
        columns=frozenset(("prompt", "gold_standard_solution", "verification_info")),
    )


def trl(row: Row) -> Found:
    """``prompt``, as text or messages, and a column ``answer`` among free ones."""
    kind, params = _typed(row)
    return Found(
        problem=_turns(row.get("prompt")),
        answer=_text(row, "answer", "ground_truth"),
        solution=_maybe(row, "solution"),
        kind=kind,
        params=params,
        columns=frozenset(("prompt", "answer", "ground_truth", "solution")),
    )


def final(row: Row) -> Found:
    """``question``, ``final_answer``, ``rationale`` as code, and ``metadata``."""
    return Found(
        problem=_text(row, "question"),
        answer=_text(row, "final_answer"),
        program=_maybe(row, "rationale"),
        columns=frozenset(("question", "final_answer", "rationale")),
    )


def _typed(row: Row) -> tuple[str, Mapping[str, Any]]:
    """What limite's own exports say of the answer."""
    kind = row.get("answer_type")
    params = row.get("answer_params")
    if not isinstance(kind, str):
        return "", {}
    return kind, _table(row, "answer_params") if params else {}


LAYOUTS: Mapping[str, Callable[[Row], Found]] = {
    "hash": hashed,
    "boxed": boxed,
    "expected-answer": expected,
    "question-answer": plain,
    "verl": verl,
    "verification-info": verification_info,
    "trl": trl,
    "final-answer": final,
}
