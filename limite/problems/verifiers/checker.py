"""Answers judged by the checker program of their problem, which runs in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence

from limite.core.types import Answer, Verdict
from limite.problems.answers import python
from limite.problems.reading.faults import Unreadable
from limite.problems.sandbox.limits import Limits
from limite.problems.sandbox.pool import Pool, Program, pool
from limite.problems.sandbox.result import Result
from limite.problems.verifiers.judge import SHOWN

CHARACTERS = 64_000
"""The longest answer that is handed to a program."""


def checked(
    pairs: Sequence[tuple[Answer, str | None]],
    *,
    limits: Limits | None = None,
    by: Pool | None = None,
) -> list[Verdict]:
    """A verdict for each program and stated answer, in order; None is a response that states none.

    Only the value ``True`` means right. An exception is what a wrong answer may well raise, and any
    other value is wrong too; a program that prints, ends early or takes too much has said nothing.
    ``limits`` replaces those of the records. Raises ``NoSandbox`` where none can be had.
    """
    verdicts: list[Verdict | None] = []
    programs: list[tuple[Program, Limits]] = []
    for answer, stated in pairs:
        found = _before(answer, stated)
        if isinstance(found, Verdict):
            verdicts.append(found)
            continue
        verdicts.append(None)
        programs.append(((found.source, python.ENTRY, (stated,)), limits or found.limits))
    if not programs:
        return [verdict for verdict in verdicts if verdict is not None]
    results = iter((by or pool()).run_each(programs))
    return [
        _verdict(next(results), stated or "") if verdict is None else verdict
        for verdict, (_, stated) in zip(verdicts, pairs, strict=True)
    ]


def _before(answer: Answer, stated: str | None) -> python.Checker | Verdict:
    """The program to run, or the verdict that needs none."""
    if stated is None or not stated.strip():
        return Verdict(outcome="unreadable", reason="no answer is stated")
    shown = stated[:SHOWN]
    if len(stated) > CHARACTERS:
        reason = f"limit: an answer of more than {CHARACTERS:,} characters"
        return Verdict(outcome="unreadable", extracted=shown, reason=reason)
    try:
        stated.encode()
        return python.read(answer.value, answer.params)
    except UnicodeEncodeError:
        reason = "half a surrogate pair is no text"
    except Unreadable as error:
        reason = f"the gold answer is malformed: {error}"
    return Verdict(outcome="unreadable", extracted=shown, reason=reason)


def _verdict(result: Result, stated: str) -> Verdict:
    shown = stated[:SHOWN]
    if result.status in ("timeout_cpu", "timeout_wall"):
        reason = f"the checker gave no verdict in time: {result.error}"
        return Verdict(outcome="timed-out", extracted=shown, reason=reason)
    if result.status == "error" and result.error_type not in ("EarlyExit", "MissingEntry"):
        reason = f"the checker raised {result.error}"
        return Verdict(outcome="wrong", extracted=shown, reason=reason)
    if result.status != "ok":
        limit = "limit: " if result.status in ("memory", "output_limit") else ""
        reason = f"{limit}the checker gave no verdict: {result.error}"
        return Verdict(outcome="unreadable", extracted=shown, reason=reason)
    if result.stdout or result.stderr:
        reason = "the checker printed, which no checker does"
        return Verdict(outcome="unreadable", extracted=shown, reason=reason)
    if result.value is True:
        return Verdict(outcome="right", extracted=shown, reason="the checker says True")
    reason = f"the checker says {repr(result.value)[:80]}"
    return Verdict(outcome="wrong", extracted=shown, reason=reason)
