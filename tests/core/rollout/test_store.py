from __future__ import annotations

import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.rollout.store import group_lines, read_groups
from limite.core.types import Answer, Group, Problem, Response, Verdict

LOGPROBS = st.floats(-200, 0) | st.sampled_from([-0.0, -1e-7, -88.0, -0.1, -1e-310])
VERDICTS = st.sampled_from(
    [Verdict(outcome="right", extracted="3"), Verdict(outcome="timed-out", reason="5 s")]
)


@st.composite
def groups(draw: st.DrawFn) -> Group:
    problem = Problem(
        problem=draw(st.text("a1#\n∑", max_size=5)),
        answer=Answer(type="integer", value="3", params={"modulus": 7}),
        source={"generator": "gcd", "seed": 1},
        difficulty={"requested": draw(st.floats(0, 1))},
        tags=["arithmetic"],
    )
    size = draw(st.integers(1, 3))
    responses = []
    listed = draw(st.booleans())
    for index in range(size):
        logprobs = tuple(draw(st.lists(LOGPROBS, min_size=1, max_size=4)))
        lists = [(number, number + 1) for number in range(len(logprobs))] if listed else []
        responses.append(
            Response(
                problem_id=problem.id,
                sample_index=index,
                prompt_ids=(1, 5),
                completion_ids=tuple(range(3, 3 + len(logprobs))),
                logprobs=logprobs,
                finish_reason="length",
                completion_budget=len(logprobs),
                policy_version=draw(st.integers(0, 9)),
                text=draw(st.text("a1#\n∑", max_size=4)),
                topk_ids=tuple(lists),
                topk_logprobs=tuple((nats, -20.0) for nats in logprobs[: len(lists)]),
            )
        )
    rewards = draw(st.lists(st.none() | st.floats(-1, 1), min_size=size, max_size=size))
    return Group(
        problem=problem,
        responses=responses,
        rewards=rewards,
        correct=draw(st.lists(st.booleans(), min_size=size, max_size=size)),
        verdicts=draw(st.just([]) | st.lists(VERDICTS, min_size=size, max_size=size)),
        penalties=draw(st.just(()) | st.tuples(*[st.floats(-1, 0)] * size)),
    )


@given(st.lists(groups(), max_size=3))
def test_json_gives_the_same_groups_back(batch: list[Group]) -> None:
    lines = [json.loads(json.dumps(line)) for line in group_lines(batch)]
    assert list(read_groups(lines)) == batch
    assert [repr(line["logprobs"]) for line in lines] == [
        repr(list(response.logprobs)) for group in batch for response in group.responses
    ]


def one_line() -> dict[str, object]:
    problem = Problem(problem="1+2=?", answer=Answer(type="integer", value="3"))
    problem = attrs.evolve(problem, solutions={"direct": "#3"})
    response = Response(
        problem_id=problem.id,
        sample_index=0,
        prompt_ids=(1,),
        completion_ids=(5, 2),
        logprobs=(-0.5, -0.25),
        finish_reason="eos",
        completion_budget=4,
        policy_version=0,
        text="#3",
    )
    group = Group(problem=problem, responses=[response], rewards=[1.0], correct=[True])
    return next(group_lines([group]))


def test_a_line_can_be_read_alone() -> None:
    line = one_line()
    assert line["group"] == 0
    assert line["problem"]["problem"] == "1+2=?"  # type: ignore[index]
    assert "solutions" not in line["problem"]  # type: ignore[operator]
    assert (line["reward"], line["correct"], line["text"]) == (1.0, True, "#3")


@pytest.mark.parametrize("field", ["group", "problem", "logprobs", "reward", "verdict"])
def test_a_line_without_a_field_is_refused(field: str) -> None:
    line = one_line()
    del line[field]
    with pytest.raises(LimiteError, match=field):
        list(read_groups([line]))


def test_a_line_of_another_problem_is_refused() -> None:
    line = one_line() | {"problem_id": "0" * 32}
    with pytest.raises(LimiteError, match="group 0 names another problem"):
        list(read_groups([line]))


def test_a_penalty_that_only_some_lines_have_is_damage() -> None:
    line = {**one_line(), "penalty": -0.5}
    (group,) = read_groups([line])
    assert group.penalties == (-0.5,)
    other = dict(line)
    del other["penalty"]
    with pytest.raises(LimiteError, match="lacks 'penalty' in some lines"):
        list(read_groups([line, other]))
