"""Files of problems: one JSON object a line, ``.jsonl`` or ``.jsonl.zst``.

Reading is strict about the fields that limite knows and keeps whatever else a record says; writing
gives the same bytes for the same problems, on every machine. A cut or damaged file is never taken
for a shorter one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.jsonl import DamagedFile, NotJSON, dumps, read_numbered, write_jsonl
from limite.core.train.data.records import TOLD, first_few
from limite.core.types import Answer, Problem

SUFFIXES = (".jsonl", ".jsonl.zst")
WORDS = "words"
"""The style of the worked solution that stands under ``solution``; others are in ``solutions``."""
_PLAIN = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)
_quoted = json.encoder.encode_basestring
_ANSWER = ("type", "value", "params")
_OBJECTS = ("source", "difficulty", "meta", "verification")
_OWN = frozenset(
    ("id", "problem", "answer", "source", "difficulty", "solution", "solutions", "tags", "meta")
)
"""What has a place of its own in a ``Problem``; all else of a record is its ``extra``."""


def record_of(problem: Problem, name: str | None = None) -> dict[str, Any]:
    """The record of a problem, as it stands in a file. What is empty is left out.

    ``name`` is its id, where that is known already.
    """
    answer = problem.answer
    record: dict[str, Any] = {
        **problem.extra,
        "id": problem.id if name is None else name,
        "problem": problem.problem,
        "answer": {"type": answer.type, "value": answer.value, "params": answer.params},
    }
    if problem.solutions:
        styles = {style: text for style, text in problem.solutions.items() if style != WORDS}
        if styles:
            record["solutions"] = styles
        if WORDS in problem.solutions:
            record["solution"] = problem.solutions[WORDS]
    for name in ("source", "difficulty", "meta"):
        value = getattr(problem, name)
        if value:
            record[name] = value
    if problem.tags:
        record["tags"] = list(problem.tags)
    return record


def problem_of(record: Any) -> Problem:
    """The problem of a record; a ValueError says which field is wrong."""
    if not isinstance(record, Mapping):
        raise ValueError(f"expected a problem as a JSON object, got {type(record).__name__}")
    text = record.get("problem")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("'problem': expected the question as text")
    objects: dict[str, Any] = {name: _object(record, name) for name in _OBJECTS}
    if "program" in record and not isinstance(record["program"], str):
        raise ValueError("'program': expected the source of a program as text")
    tags = record.get("tags", ())
    if not isinstance(tags, (list, tuple)) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError("'tags': expected a list of texts")
    del objects["verification"]
    problem = Problem(
        problem=text,
        answer=_answer(record.get("answer")),
        solutions=_solutions(record),
        tags=tuple(tags),
        extra={name: value for name, value in record.items() if name not in _OWN},
        **objects,
    )
    try:
        found = problem.id
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is no text") from None
    given = record.get("id", found)
    if given != found:
        raise ValueError(
            f"'id': is {given!r}, and question and answer give {found!r}; leave it out where "
            "they were changed on purpose"
        )
    return problem


def _object(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name, {})
    if not isinstance(value, Mapping):
        raise ValueError(f"{name!r}: expected an object")
    return value


def _answer(value: Any) -> Answer:
    if not isinstance(value, Mapping):
        raise ValueError('\'answer\': expected an object like {"type": "integer", "value": "42"}')
    for name in value:
        if name not in _ANSWER:
            near = did_you_mean(name, _ANSWER) or f"; there are {', '.join(_ANSWER)}"
            raise ValueError(f"'answer': unknown key {name!r}{near}")
    kind, text, params = value.get("type"), value.get("value"), value.get("params", {})
    if not isinstance(kind, str) or not isinstance(text, str) or not isinstance(params, Mapping):
        raise ValueError(
            "'answer': expected texts as 'type' and 'value', and an object as 'params' if any"
        )
    return Answer(type=kind, value=text, params=params)


def _solutions(record: Mapping[str, Any]) -> Mapping[str, str]:
    styles = dict(_object(record, "solutions"))
    if "solution" in record:
        if WORDS in styles:
            raise ValueError(f"'solution': stands under 'solutions' as {WORDS!r} too")
        styles[WORDS] = record["solution"]
    for style, text in styles.items():
        if not isinstance(text, str):
            name = "'solution'" if style == WORDS else f"'solutions': {style!r}"
            raise ValueError(f"{name}: expected a worked solution as text")
    return styles


def read_lines(path: str | Path) -> Iterator[tuple[int, Problem | Mistake]]:
    """Every line's number with its problem, or with what is wrong with it.

    A file that cannot be read to its end raises ``DamagedFile``, after all that can be read was
    given; it says how many lines that was.
    """
    for number, record in read_numbered(suffixed(path)):
        try:
            if isinstance(record, NotJSON):
                raise ValueError(f"not JSON: {record}")
            found: Problem | Mistake = problem_of(record)
        except ValueError as error:
            found = Mistake(str(error), file=str(path), line=number)
        yield number, found


def read_problems(
    path: str | Path,
    *,
    distinct: bool = False,
    refuse: Callable[[Problem], str] | None = None,
) -> list[Problem]:
    """All problems of a file; what is wrong with it is told all at once, by line.

    ``distinct`` refuses a problem that an earlier line holds; ``refuse`` may say why it refuses
    one, or give an empty text.
    """
    problems: list[Problem] = []
    lines: dict[str, int] = {}
    wrong: list[Mistake] = []
    for number, found in read_lines(path):
        if isinstance(found, Mistake):
            wrong.append(found)
            continue
        reason = refuse(found) if refuse is not None else ""
        if distinct and found.id in lines:
            reason = f"the problem of line {lines[found.id]} again"
        if reason:
            wrong.append(Mistake(reason, file=str(path), line=number))
        lines.setdefault(found.id, number)
        problems.append(found)
    if not problems and not wrong:
        wrong.append(Mistake("expected problems, one JSON object a line, got none", file=str(path)))
    if wrong:
        raise SettingsError(first_few(wrong[:TOLD], len(wrong), path))
    return problems


def iterate(path: str | Path) -> Iterator[Problem]:
    """The problems of a file one by one, up to the first line that is none: a SettingsError tells
    that and every later one."""
    lines = (found for _number, found in read_lines(path))
    for found in lines:
        if isinstance(found, Mistake):
            wrong = [found]
            try:
                wrong += [each for each in lines if isinstance(each, Mistake)]
            except DamagedFile as error:
                wrong.append(Mistake(str(error)))
            raise SettingsError(first_few(wrong[:TOLD], len(wrong), path))
        yield found


def write_problems(path: str | Path, problems: Iterable[Problem]) -> None:
    """Writes a whole file of problems atomically: the old content stays until all is written."""
    write_jsonl(suffixed(path), (record_of(problem) for problem in problems))


def line_of(record: Mapping[str, Any]) -> bytes:
    """The line of a record, with its end."""
    try:
        return _PLAIN.encode(record).encode() + b"\n"
    except (TypeError, ValueError):
        # Infinite numbers and halves of characters have a spelling, all else a place to be told.
        return dumps(record).encode() + b"\n"


def line_of_made(problem: Problem, name: str, source: str) -> bytes:
    """The line of a problem whose id is known, and whose source is written already.

    It is what ``line_of`` gives of ``record_of``, put together by hand: three times as fast.
    """
    answer, solutions = problem.answer, problem.solutions
    params = _PLAIN.encode(answer.params) if answer.params else "{}"
    words = solutions.get(WORDS)
    styles = {style: text for style, text in solutions.items() if style != WORDS}
    tags = ",".join(map(_quoted, problem.tags))
    line = (
        f'{{"answer":{{"params":{params},"type":{_quoted(answer.type)},'
        f'"value":{_quoted(answer.value)}}},'
        + (f'"difficulty":{_PLAIN.encode(problem.difficulty)},' if problem.difficulty else "")
        + f'"id":"{name}",'
        + (f'"meta":{_PLAIN.encode(problem.meta)},' if problem.meta else "")
        + f'"problem":{_quoted(problem.problem)}'
        + ("" if words is None else f',"solution":{_quoted(words)}')
        + (f',"solutions":{_PLAIN.encode(styles)}' if styles else "")
        + f',"source":{source}'
        + (f',"tags":[{tags}]' if tags else "")
        + "}\n"
    )
    return line.encode()


def suffixed(path: str | Path) -> Path:
    """The path of a file of problems; a name that does not say how it is written is refused."""
    path = Path(path)
    if not path.name.endswith(SUFFIXES):
        raise LimiteError(f"{path}: a file of problems ends in {' or '.join(SUFFIXES)}")
    return path
