"""What every reward must obey, as tests to run over any one of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy

import attrs
from hypothesis import given
from hypothesis import strategies as st

from limite.core.kinds import Reward
from limite.core.types import (
    FINISH_REASONS,
    Answer,
    FinishReason,
    Outcome,
    Problem,
    Response,
    Verdict,
)

OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "unreadable", "timed-out")
TEXTS = st.text("0123456789#=+ \n<think>/é", max_size=30)
PROBLEMS = st.builds(
    Problem, problem=TEXTS, answer=st.builds(Answer, type=st.just("integer"), value=TEXTS)
)
VERDICTS = st.builds(
    Verdict,
    outcome=st.sampled_from(OUTCOMES),
    extracted=st.none() | TEXTS,
    reason=TEXTS,
)


@st.composite
def responses(draw: st.DrawFn) -> Response:
    """Responses that ended in any of the ways there are, with any text."""
    reason: FinishReason = draw(st.sampled_from(FINISH_REASONS))
    before = draw(st.lists(st.integers(3, 9), min_size=1, max_size=5))
    tokens = (*before, 2) if reason == "eos" else tuple(before)
    spare = 0 if reason == "length" else draw(st.integers(1, 9))
    return Response(
        problem_id="0" * 32,
        sample_index=0,
        prompt_ids=(1, 5),
        completion_ids=tokens,
        logprobs=(-0.5,) * len(tokens),
        finish_reason=reason,
        completion_budget=len(tokens) + spare,
        policy_version=draw(st.integers(0, 9)),
        text=draw(TEXTS),
    )


def reward_laws(reward: Reward) -> dict[str, Callable[[], None]]:
    """Laws by name; each is a test without arguments."""

    @given(PROBLEMS, responses(), VERDICTS)
    def is_total(problem: Problem, response: Response, verdict: Verdict) -> None:
        for outcome in OUTCOMES:
            value = reward(problem, response, attrs.evolve(verdict, outcome=outcome))
            assert value is None or math.isfinite(value), f"{outcome} earns {value}"

    @given(PROBLEMS, responses(), VERDICTS)
    def is_deterministic(problem: Problem, response: Response, verdict: Verdict) -> None:
        first = reward(problem, response, verdict)
        assert reward(deepcopy(problem), deepcopy(response), deepcopy(verdict)) == first

    return {"is_total": is_total, "is_deterministic": is_deterministic}
