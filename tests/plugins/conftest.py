"""Ways to make the values that components take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from limite.core.types import Answer, Group, Problem, Response


@pytest.fixture(scope="session")
def make_group() -> Callable[..., Group]:
    def make(rewards: Sequence[float | None], correct: Sequence[bool] | None = None) -> Group:
        problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))
        responses = [
            Response(
                problem_id=problem.id,
                sample_index=index,
                prompt_ids=(1,),
                completion_ids=(2,),
                logprobs=(-0.5,),
                finish_reason="eos",
                completion_budget=1,
                policy_version=0,
                text="#2",
            )
            for index in range(len(rewards))
        ]
        return Group(
            problem=problem,
            responses=responses,
            rewards=rewards,
            correct=[bool(reward) for reward in rewards] if correct is None else correct,
        )

    return make
