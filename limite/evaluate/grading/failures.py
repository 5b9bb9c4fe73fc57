"""Verdicts on many responses, of which a grader that fails on one costs that one alone."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from limite.core.errors import LimiteError, sentence
from limite.core.kinds import Verifier
from limite.core.rollout.grading import verdicts_on
from limite.core.types import Answer, Verdict

STATUS = {"right": "ok", "wrong": "ok", "unreadable": "no_answer", "timed-out": "timeout"}
STATUSES = ("ok", "no_answer", "error", "timeout")


@attrs.frozen(kw_only=True)
class Failed(Verdict):
    """In place of a verdict: the grader has raised, for the ``reason`` that it gives."""


def status_of(verdict: Verdict) -> str:
    """What records call it, one of ``STATUSES``."""
    return "error" if isinstance(verdict, Failed) else STATUS[verdict.outcome]


def verdicts_or_failures(verifier: Verifier, pairs: Sequence[tuple[Answer, str]]) -> list[Verdict]:
    """A verdict on every pair, in order; a ``Failed`` one, not correct, where the grader raises.

    A LimiteError is raised as ever: it says that something is to be put right first.
    """
    try:
        return verdicts_on(verifier, pairs)
    except LimiteError:
        raise
    except Exception:
        return [_verdict(verifier, answer, text) for answer, text in pairs]


def _verdict(verifier: Verifier, answer: Answer, text: str) -> Verdict:
    try:
        return verifier(answer, text)
    except LimiteError:
        raise
    except Exception as error:  # a grader may be anyone's
        return Failed(outcome="unreadable", reason=f"the grader failed: {sentence(error)}")
