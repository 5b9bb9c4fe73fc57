from __future__ import annotations

import attrs
import pytest

from limite.core.types import Answer, Problem, Response, Verdict
from limite.plugins.rewards.accuracy import Accuracy

PROBLEM = Problem(problem="1+2=?", answer=Answer(type="integer", value="3"))
RESPONSE = Response(
    problem_id=PROBLEM.id,
    sample_index=0,
    prompt_ids=(1,),
    completion_ids=(5, 2),
    logprobs=(-0.5, -0.5),
    finish_reason="eos",
    completion_budget=2,
    policy_version=0,
    text="#3",
)


@pytest.mark.parametrize(
    ("outcome", "reward"),
    [("right", 1.0), ("wrong", 0.0), ("unreadable", 0.0), ("timed-out", None)],
)
def test_a_finished_response_earns_what_its_answer_is_worth(
    outcome: str, reward: float | None
) -> None:
    assert Accuracy()(PROBLEM, RESPONSE, Verdict(outcome=outcome)) == reward  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", ["length", "repetition", "stop"])
@pytest.mark.parametrize("outcome", ["right", "timed-out"])
def test_an_unfinished_response_earns_nothing(reason: str, outcome: str) -> None:
    response = attrs.evolve(RESPONSE, finish_reason=reason)
    assert Accuracy()(PROBLEM, response, Verdict(outcome=outcome)) == 0.0  # type: ignore[arg-type]


def test_open_reasoning_earns_nothing() -> None:
    response = attrs.evolve(RESPONSE, text="<think>#3")
    assert Accuracy()(PROBLEM, response, Verdict(outcome="right")) == 0.0
