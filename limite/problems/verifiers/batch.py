"""Batches of answers to the worker that this process keeps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from limite.core.errors import LimiteError, did_you_mean
from limite.core.types import Answer, Verdict
from limite.problems.answers import CHECKED, answer_of
from limite.problems.reading.extract import FALLBACKS
from limite.problems.reading.extract import extract as extracted_from
from limite.problems.verifiers.worker import Request, Worker

CHARACTERS = 16_000_000
"""The longest text that is judged at all."""

_KEPT: list[Worker] = []


def worker() -> Worker:
    """The worker of this process, made when it is first asked for."""
    if not _KEPT:
        _KEPT.append(Worker())
    return _KEPT[0]


def judged(
    pairs: Iterable[tuple[Answer | Mapping[str, Any], str]],
    *,
    extract: bool,
    fallbacks: Sequence[str],
    by: Worker | None = None,
) -> list[Verdict]:
    """A verdict for each pair, in order."""
    for name in fallbacks:
        if name not in FALLBACKS:
            raise LimiteError(f"unknown fallback {name!r}{did_you_mean(name, FALLBACKS)}")
    verdicts: list[Verdict | None] = []
    programs: list[tuple[int, Answer, str | None]] = []
    requests: list[Request] = []
    for given, text in pairs:
        answer = answer_of(given)
        if len(text) > CHARACTERS or len(answer.value) > CHARACTERS:
            reason = f"limit: a text of more than {CHARACTERS} characters"
            verdicts.append(Verdict(outcome="unreadable", reason=reason))
            continue
        verdicts.append(None)
        if answer.type in CHECKED:
            _plain(answer)
            stated = extracted_from(text, fallbacks=fallbacks) if extract else text
            programs.append((len(verdicts) - 1, answer, stated))
            continue
        requests.append(
            {
                "type": answer.type,
                "value": answer.value,
                "params": _plain(answer),
                "text": text,
                "extract": extract,
                "fallbacks": fallbacks,
            }
        )
    if programs:
        from limite.problems.verifiers.checker import checked

        said = checked([(answer, stated) for _, answer, stated in programs])
        for (place, _, _), verdict in zip(programs, said, strict=True):
            verdicts[place] = verdict
    found = iter((by or worker()).judge(requests) if requests else [])
    return [next(found) if verdict is None else verdict for verdict in verdicts]


def _plain(answer: Answer) -> dict[str, Any]:
    params = dict(answer.params)
    try:
        json.dumps(params)
    except (TypeError, ValueError) as error:
        raise LimiteError(f"the params of an answer are not plain data: {error}") from error
    return params
