"""Graded responses as they are written down."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from limite.core.types import Problem
from limite.evaluate.graded import Graded, arm_of
from limite.evaluate.grading.failures import status_of
from limite.evaluate.wrong_step import Known, wrong_step
from limite.problems.files import WORDS


def records(graded: Sequence[Graded]) -> Iterator[dict[str, Any]]:
    """One plain record per response, for ``responses.jsonl.zst``."""
    asked: Problem | None = None
    known = Known({})
    for one in graded:
        step = None
        if not one.correct:
            if asked is not one.problem:
                asked, known = one.problem, Known.of(one.problem)
            step = wrong_step(
                one.problem, one.response.text, one.verdict, closed=one.closed, known=known
            )
        yield {
            "problem_id": one.problem.id,
            "problem": one.problem.problem,
            "answer": one.problem.answer.value,
            "answer_type": one.problem.answer.type,
            "answer_params": dict(one.problem.answer.params),
            "solution": _solution(one.problem),
            "arm": arm_of(one.problem),
            "sample_index": one.response.sample_index,
            "prompt_tokens": one.response.prompt_tokens,
            "completion_budget": one.response.completion_budget,
            "generated_tokens": one.response.generated_tokens,
            "finish_reason": one.response.finish_reason,
            "correct": one.correct,
            "extracted_answer": one.verdict.extracted,
            "grader_status": status_of(one.verdict),
            "grader_reason": one.verdict.reason,
            "wrong_step": None if step is None else attrs.asdict(step),
            "text": one.response.text,
            "text_sha256": hashlib.sha256(
                one.response.text.encode("utf-8", "surrogatepass")
            ).hexdigest(),
            **({} if one.marks is None else {"grading": one.marks.record}),
        }


def _solution(problem: Problem) -> str | None:
    """A worked solution: the one in words, where there are several."""
    known = problem.solutions
    return known.get(WORDS) or max(known.values(), key=len, default=None)
