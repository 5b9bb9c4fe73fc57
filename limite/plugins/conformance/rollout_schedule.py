"""What every rollout schedule must obey, as tests to run over any one of them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from limite.core.kinds import Generate, Request, RolloutSchedule
from limite.core.types import Answer, Problem, Response

GROUPS = st.integers(1, 5)
ROLLOUTS = st.integers(1, 4)
SEEDS = st.integers(0, 2**64 - 1)
Batch = list[tuple[Problem, list[Response]]]


def endless_groups(rollouts: int) -> Iterator[list[Request]]:
    """Requests for one problem after another, told apart by their question."""
    for number in itertools.count():
        problem = Problem(problem=f"{number}+1=?", answer=Answer(type="integer", value="1"))
        yield [
            Request(problem=problem, sample_index=index, prompt_ids=(1, 5), budget_tokens=4)
            for index in range(rollouts)
        ]


def answer(request: Request) -> Response:
    """A response whose tokens say which request it answers."""
    number = int(request.problem.problem.split("+")[0])
    return Response(
        problem_id=request.problem.id,
        sample_index=request.sample_index,
        prompt_ids=request.prompt_ids,
        completion_ids=(3 + number, 3 + request.sample_index, 2),
        logprobs=(-0.5, -0.25, -0.125),
        finish_reason="eos",
        completion_budget=request.budget_tokens,
        policy_version=0,
        text="",
    )


def shuffled(seed: int) -> Generate:
    """Answers every request, in an order of completion of its own."""
    rng = random.Random(seed)

    def generate(requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        for index in rng.sample(range(len(requests)), len(requests)):
            yield index, answer(requests[index])

    return generate


def rollout_schedule_laws(schedule: RolloutSchedule) -> dict[str, Callable[[], None]]:
    """Laws by name; each is a test without arguments."""

    def play(
        groups: int, rollouts: int, seed: int, order: int, batches: int, cut: int | None = None
    ) -> list[Batch]:
        run = schedule.build(groups, rollouts, seed)
        source = endless_groups(rollouts)
        generate = shuffled(order)
        played = []
        for batch in range(batches):
            if batch == cut:
                saved = json.dumps(run.state(), sort_keys=True, allow_nan=False)
                run = schedule.build(groups, rollouts, seed)
                run.restore(json.loads(saved))
            got = run.next(source, generate)
            played.append([(problem, list(responses)) for problem, responses in got])
        return played

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS)
    def gives_whole_groups_in_order(groups: int, rollouts: int, seed: int, order: int) -> None:
        for batch in play(groups, rollouts, seed, order, 2):
            assert len(batch) == groups
            numbers = [int(problem.problem.split("+")[0]) for problem, _ in batch]
            assert numbers == sorted(set(numbers))
            for problem, responses in batch:
                assert [each.sample_index for each in responses] == list(range(rollouts))
                assert {each.problem_id for each in responses} == {problem.id}

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS)
    def keeps_every_response_as_sampled(groups: int, rollouts: int, seed: int, order: int) -> None:
        for batch in play(groups, rollouts, seed, order, 2):
            for problem, responses in batch:
                requests = [
                    Request(problem=problem, sample_index=index, prompt_ids=(1, 5), budget_tokens=4)
                    for index in range(rollouts)
                ]
                assert responses == [answer(request) for request in requests]

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS, st.integers(0, 2))
    def restored_equals_never_stopped(
        groups: int, rollouts: int, seed: int, order: int, cut: int
    ) -> None:
        assert play(groups, rollouts, seed, order, 3, cut) == play(groups, rollouts, seed, order, 3)

    return {
        "gives_whole_groups_in_order": gives_whole_groups_in_order,
        "keeps_every_response_as_sampled": keeps_every_response_as_sampled,
        "restored_equals_never_stopped": restored_equals_never_stopped,
    }
