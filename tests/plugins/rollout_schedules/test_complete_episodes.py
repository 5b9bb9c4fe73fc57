from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from limite.core.errors import LimiteError
from limite.core.kinds import Request
from limite.core.types import Response
from limite.plugins.conformance.rollout_schedule import (
    answer,
    endless_groups,
    rollout_schedule_laws,
    shuffled,
)
from limite.plugins.rollout_schedules.complete_episodes import CompleteEpisodes

LAWS = rollout_schedule_laws(CompleteEpisodes())


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_complete_episodes_obeys(law: Callable[[], None]) -> None:
    law()


@pytest.mark.parametrize("slots", [16, 64])
def test_long_episodes_keep_their_share(slots: int) -> None:
    """Half of the episodes take ten times as long; a batch must hold half of them all the same."""
    rng = random.Random(20)
    durations: dict[str, int] = {}
    started = 0

    def generate(requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        nonlocal started
        waiting = list(enumerate(requests))[::-1]
        running: list[tuple[float, int]] = []
        now = 0.0
        while waiting or running:
            while waiting and len(running) < slots:
                index, request = waiting.pop()
                duration = durations.setdefault(request.problem.id, rng.choice((1, 10)))
                heapq.heappush(running, (now + duration, index))
                started += 1
            now, index = heapq.heappop(running)
            yield index, answer(requests[index])

    run = CompleteEpisodes().build(groups=64, rollouts=1, seed=0)
    source = endless_groups(1)
    longs = 0
    for _ in range(400):
        batch = run.next(source, generate)
        assert len(batch) == 64
        longs += sum(durations[problem.id] == 10 for problem, _ in batch)
    # 25,600 fair draws have a standard error of 0.003; 0.02 is what the schedule promises.
    assert abs(longs / (400 * 64) - 0.5) < 0.02
    assert started == 400 * 64


def test_order_of_completion_leaves_no_trace() -> None:
    batches = [
        CompleteEpisodes().build(4, 3, seed=0).next(endless_groups(3), shuffled(order))
        for order in range(5)
    ]
    assert all(batch == batches[0] for batch in batches)


def test_a_problem_that_comes_twice_goes_on_counting_samples() -> None:
    group = next(endless_groups(4))
    batch = CompleteEpisodes().build(2, 2, seed=0).next(iter([group[:2], group[2:]]), shuffled(3))
    assert [[each.sample_index for each in responses] for _, responses in batch] == [[0, 1], [2, 3]]


def test_too_few_problems_are_an_error() -> None:
    groups = iter([next(endless_groups(2))])
    with pytest.raises(LimiteError, match="needs 2 problems, only 1 came"):
        CompleteEpisodes().build(2, 2, seed=0).next(groups, shuffled(0))


def test_a_lost_response_is_noticed() -> None:
    def loses_one(requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        for index, request in enumerate(requests[1:], start=1):
            yield index, answer(request)

    def answers_twice(requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        for request in requests:
            yield 0, answer(request)

    run = CompleteEpisodes().build(2, 2, seed=0)
    with pytest.raises(AssertionError, match="never answered"):
        run.next(endless_groups(2), loses_one)
    with pytest.raises(AssertionError, match="answered twice"):
        run.next(endless_groups(2), answers_twice)
