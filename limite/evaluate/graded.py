"""Responses that were judged: what is known of one, and how verdicts come about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import attrs

from limite.core.kinds import Verifier
from limite.core.types import Answer, FinishReason, Problem, Verdict
from limite.evaluate.grading.failures import verdicts_or_failures
from limite.evaluate.grading.protocols import Grading, Marks


class Answered(Protocol):
    """A response, as far as figures of it need one: sampled just now, or read from a file."""

    @property
    def sample_index(self) -> int: ...

    @property
    def prompt_tokens(self) -> int: ...

    @property
    def completion_budget(self) -> int: ...

    @property
    def generated_tokens(self) -> int: ...

    @property
    def finish_reason(self) -> FinishReason: ...

    @property
    def text(self) -> str: ...


@attrs.frozen(kw_only=True)
class Graded:
    """One response and what the verifier made of it; ``marks`` where it was graded by protocols.

    ``closed`` says whether its thinking is: where a template has opened it the text cannot tell.
    """

    problem: Problem
    response: Answered
    verdict: Verdict
    closed: bool
    correct: bool
    marks: Marks | None = None


def arm_of(problem: Problem) -> str:
    """What a problem was drawn as: an entry of a mixture at a level, or its generator."""
    return str(problem.meta.get("arm", problem.source.get("generator", "")))


def judged(
    verifier: Verifier, pairs: Sequence[tuple[Answer, str]]
) -> list[tuple[Verdict, Marks | None]]:
    """A verdict on every pair, in order, and its marks where protocols grade."""
    if not isinstance(verifier, Grading):
        return [(verdict, None) for verdict in verdicts_or_failures(verifier, pairs)]
    marks = verifier.marks(pairs)
    return [
        (verifier.verdict(each, text), each) for each, (_, text) in zip(marks, pairs, strict=True)
    ]


def text_judged(text: str, closed: bool, verifier: Verifier) -> str:
    """What is judged. Protocols look for thinking left open, which a template may have opened."""
    if isinstance(verifier, Grading) and not closed and "<think>" not in text:
        return f"<think>{text}"
    return text
