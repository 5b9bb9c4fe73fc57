"""What no learner may be given is refused, by name."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from limite.core.errors import LimiteError
from limite.core.rollout.whole import check_groups, check_records
from limite.core.types import Answer, Group, Problem, Response

SIZE = 3


def problem(number: int) -> Problem:
    return Problem(problem=f"{number}+1", answer=Answer(type="integer", value=str(number + 1)))


def response(of: Problem, index: int, **changes: Any) -> Response:
    made = Response(
        problem_id=of.id,
        sample_index=index,
        prompt_ids=(1, 5),
        completion_ids=(7, 2),
        logprobs=(-0.5, -0.1),
        finish_reason="eos",
        completion_budget=4,
        policy_version=0,
        text="x",
    )
    return attrs.evolve(made, **changes)


def group(number: int, first: int = 0, size: int = SIZE) -> Group:
    of = problem(number)
    responses = [response(of, index) for index in range(first, first + size)]
    return Group(problem=of, responses=responses, rewards=[0.0] * size, correct=[False] * size)


def test_whole_groups_pass_and_so_does_a_problem_that_was_drawn_twice() -> None:
    check_groups([group(1), group(2), group(1, first=SIZE)], SIZE)
    check_groups([group(1), group(1)], SIZE)  # of two steps, where one was carried over


TWICE = group(1)


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([group(1, size=2)], r"splits a group: .* the samples \[0, 1\], where 3 in a row"),
        ([group(1, first=1)], r"the samples \[1, 2, 3\]"),
        ([group(1, size=6)], r"the samples \[0, 1, 2, 3, 4, 5\]"),
        ([group(1, size=0)], r"the samples \[\]"),
        ([TWICE, group(2), TWICE], r"samples \[0, 1, 2\] twice"),
    ],
)
def test_a_group_in_pieces_or_twice_is_refused(groups: list[Group], told: str) -> None:
    with pytest.raises(LimiteError, match=told):
        check_groups(groups, SIZE)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"logprobs": (-0.5,)}, "2 tokens but 1 log-probabilities"),
        ({"finish_reason": "length"}, "its finish reason is 'length' but its last token is 2"),
        ({"completion_ids": (2, 2)}, "goes on after an end-of-sequence token"),
        ({"completion_budget": 1}, "2 tokens exceed its budget of 1"),
        ({"completion_budget": 40}, "exceed the context of 16"),
        ({"problem_id": problem(2).id}, "it is scored as one to problem"),
    ],
)
def test_a_broken_record_is_refused_when_it_is_scored(changes: dict[str, Any], told: str) -> None:
    of = problem(1)
    good = [response(of, index) for index in range(2)]
    check_records([(of, good)], eos_ids=(2,), context=16)
    broken = attrs.evolve(good[1], **changes)
    with pytest.raises(LimiteError, match=told):
        check_records([(of, [good[0], broken])], eos_ids=(2,), context=16)
