"""Reward 1 for a right answer, 0 for anything else."""

from __future__ import annotations

import attrs

from limite.core.rollout.budget import is_finished
from limite.core.types import Problem, Response, Verdict


@attrs.frozen(kw_only=True)
class Accuracy:
    """1 when a response came to its own end and its answer is right, else 0.

    A response that was cut off earns 0 though the right value stands in its text, and so does one
    without a readable answer. One whose verification ran out of time has no reward at all.
    """

    def __call__(self, problem: Problem, response: Response, verdict: Verdict, /) -> float | None:
        if not is_finished(response):
            return 0.0
        if verdict.outcome == "timed-out":
            return None
        return 1.0 if verdict.correct else 0.0
