"""What every rollout schedule must obey, as tests to run over any one of them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from limite.core.rollout_kinds import Batch, Request, RolloutSchedule
from limite.core.types import Answer, Group, Problem, Response

GROUPS = st.integers(1, 5)
ROLLOUTS = st.integers(1, 4)
SEEDS = st.integers(0, 2**64 - 1)
Sampled = tuple[Problem, Sequence[Response]]


def problem_number(number: int) -> Problem:
    """One problem after another, told apart by their question."""
    return Problem(problem=f"{number}+1=?", answer=Answer(type="integer", value="1"))


def number_of(problem: Problem) -> int:
    """Which problem it is."""
    return int(problem.problem.split("+")[0])


def answer(request: Request, policy_version: int = 0) -> Response:
    """A response whose tokens say which request it answers."""
    return Response(
        problem_id=request.problem.id,
        sample_index=request.sample_index,
        prompt_ids=request.prompt_ids,
        completion_ids=(3 + number_of(request.problem), 3 + request.sample_index, 2),
        logprobs=(-0.5, -0.25, -0.125),
        finish_reason="eos",
        completion_budget=request.budget_tokens,
        policy_version=policy_version,
        text="",
    )


class Episodes:
    """Problems that never end, responses in an order of their own, and rewards that differ.

    Which responses are right depends on problem and sample alone: of every third problem all are,
    of every third none is. ``asked`` and ``scored`` count.
    """

    def __init__(self, rollouts: int, order: int, first: int = 0) -> None:
        self.rollouts = rollouts
        self.rng = random.Random(order)
        self.numbers = itertools.count(first)
        self.asked = 0
        self.scored = 0

    def ask(self, count: int) -> list[Sequence[Request]]:
        self.asked += count
        return [self._group(next(self.numbers)) for _ in range(count)]

    def _group(self, number: int) -> list[Request]:
        problem = problem_number(number)
        return [
            Request(problem=problem, sample_index=index, prompt_ids=(1, 5), budget_tokens=4)
            for index in range(self.rollouts)
        ]

    def generate(
        self, requests: Iterable[Request], *, slots: int | None = None
    ) -> Iterator[tuple[int, Response]]:
        """Answers as many as there are slots for, in any order, and takes more as they end."""
        coming = enumerate(requests)
        running: list[tuple[int, Request]] = []
        while True:
            running += itertools.islice(coming, (64 if slots is None else slots) - len(running))
            if not running:
                return
            index, request = running.pop(self.rng.randrange(len(running)))
            yield index, answer(request)

    def score(self, sampled: Sequence[Sampled]) -> list[Group]:
        self.scored += len(sampled)
        return [_scored(problem, responses) for problem, responses in sampled]


def _scored(problem: Problem, responses: Sequence[Response]) -> Group:
    turn = number_of(problem) % 3
    correct = [turn == 0 or (turn == 1 and each.sample_index % 2 == 0) for each in responses]
    rewards = [float(right) for right in correct]
    return Group(problem=problem, responses=responses, rewards=rewards, correct=correct)


def rollout_schedule_laws(schedule: RolloutSchedule) -> dict[str, Callable[[], None]]:
    """Laws by name; each is a test without arguments."""
    in_full = not getattr(type(schedule), "leaves_out", False)

    def play(
        groups: int, rollouts: int, seed: int, order: int, batches: int, cut: int | None = None,
        *, stopped: bool = True,
    ) -> tuple[list[Batch], list[Episodes]]:  # fmt: skip
        """The batches, and what each was made from. At ``cut`` the state is saved, and unless not
        ``stopped`` another run goes on from it."""
        run = schedule.build(groups, rollouts, seed)
        played, sources, first = [], [], 0
        for batch in range(batches):
            if batch == cut:
                saved = json.dumps(run.state(), sort_keys=True, allow_nan=False)
                if stopped:
                    run = schedule.build(groups, rollouts, seed)
                    run.restore(json.loads(saved))
            episodes = Episodes(rollouts, order + batch, first)
            played.append(run.next(episodes))
            sources.append(episodes)
            first += episodes.asked
        return played, sources

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS)
    def gives_whole_groups(groups: int, rollouts: int, seed: int, order: int) -> None:
        rollouts = max(2, rollouts)  # one response differs from nothing
        for batch in play(groups, rollouts, seed, order, 2)[0]:
            assert len(batch.groups) == groups
            everything = [*batch.groups, *batch.dropped]
            numbers = [number_of(group.problem) for group in everything]
            assert len(set(numbers)) == len(numbers)
            for group in everything:
                indexes = [each.sample_index for each in group.responses]
                assert indexes == list(range(rollouts))
                assert {each.problem_id for each in group.responses} == {group.problem.id}

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS)
    def keeps_the_order_of_asking(groups: int, rollouts: int, seed: int, order: int) -> None:
        rollouts = max(2, rollouts)
        for batch in play(groups, rollouts, seed, order, 2)[0]:
            for part in (batch.groups, batch.dropped):
                numbers = [number_of(group.problem) for group in part]
                assert numbers == sorted(numbers)

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS)
    def keeps_every_response_as_sampled(groups: int, rollouts: int, seed: int, order: int) -> None:
        rollouts = max(2, rollouts)
        for batch in play(groups, rollouts, seed, order, 2)[0]:
            for group in [*batch.groups, *batch.dropped]:
                source = Episodes(rollouts, 0, number_of(group.problem))
                (requests,) = source.ask(1)
                assert list(group.responses) == [answer(request) for request in requests]

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS, st.integers(0, 2))
    def restored_equals_never_stopped(
        groups: int, rollouts: int, seed: int, order: int, cut: int
    ) -> None:
        rollouts = max(2, rollouts)
        stopped = play(groups, rollouts, seed, order, 3, cut)[0]
        assert stopped == play(groups, rollouts, seed, order, 3, cut, stopped=False)[0]
        assert stopped == play(groups, rollouts, seed, order, 3)[0], "saving changes what follows"

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS)
    def accounts_for_all_it_asked_for(groups: int, rollouts: int, seed: int, order: int) -> None:
        rollouts = max(2, rollouts)
        for batch, source in zip(*play(groups, rollouts, seed, order, 1), strict=True):
            told = len(batch.groups) + len(batch.dropped)
            assert told <= source.scored <= source.asked
            if not getattr(type(schedule), "first_come", False):
                assert told == source.scored, "groups were scored and told nowhere"
            assert batch.abandoned == (source.asked - source.scored) * rollouts
            if in_full:
                assert told == source.asked

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS, SEEDS)
    def who_ends_first_changes_nothing(
        groups: int, rollouts: int, seed: int, order: int, other: int
    ) -> None:
        rollouts = max(2, rollouts)
        assert (
            play(groups, rollouts, seed, order, 2)[0] == play(groups, rollouts, seed, other, 2)[0]
        )

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS)
    def keeps_groups_with_contrast(groups: int, rollouts: int, seed: int, order: int) -> None:
        """A group without contrast is learned from only where none with contrast was left out."""
        rollouts = max(2, rollouts)
        for batch in play(groups, rollouts, seed, order, 2)[0]:
            flat = [len(set(group.correct)) < 2 for group in batch.groups]
            spare = [group for group in batch.dropped if len(set(group.correct)) == 2]
            assert not (any(flat) and spare)

    @given(GROUPS, ROLLOUTS, SEEDS, SEEDS)
    def is_neither_later_nor_more_than_it_says(
        groups: int, rollouts: int, seed: int, order: int
    ) -> None:
        """What it tells of groups that come late, and of how many it may ask for, holds."""
        rollouts = max(2, rollouts)
        carries = getattr(schedule, "carries_over", False)
        late = getattr(schedule, "most_batches_late", 1) if carries else 0
        most = getattr(schedule, "most_groups", None)
        began: list[int] = []  # the batch that each problem was asked for
        batches, sources = play(groups, rollouts, seed, order, 4)
        for number, (batch, source) in enumerate(zip(batches, sources, strict=True)):
            began += [number] * source.asked
            assert most is None or source.asked <= most(groups)
            assert all(number - began[number_of(each.problem)] <= late for each in batch.groups)

    laws: list[Callable[[], None]] = [
        gives_whole_groups,
        keeps_the_order_of_asking,
        keeps_every_response_as_sampled,
        restored_equals_never_stopped,
        accounts_for_all_it_asked_for,
        keeps_groups_with_contrast,
        is_neither_later_nor_more_than_it_says,
    ]
    if not getattr(type(schedule), "first_come", False):
        laws.append(who_ends_first_changes_nothing)
    return {law.__name__: law for law in laws}
