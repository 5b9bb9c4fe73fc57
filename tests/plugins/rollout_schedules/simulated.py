"""Episodes of known length on a clock: short ones are mostly solved, long ones mostly not."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence

from limite.core.kinds import Request
from limite.core.types import Group, Response
from limite.plugins.conformance.rollout_schedule import Sampled, answer, problem_number

SHORT, LONG = 1.0, 10.0


class Clock:
    """Slots in which episodes run side by side. ``now`` is the time, ``busy`` slots times time."""

    def __init__(self, slots: int, seed: int, durations: Sequence[float] = (SHORT, LONG)) -> None:
        self.slots = slots
        self.rng = random.Random(seed)
        self.durations = durations
        self.numbers = itertools.count()
        self.duration: dict[str, float] = {}
        self.now = self.busy = 0.0
        self.version = 0

    def ask(self, count: int) -> list[Sequence[Request]]:
        found: list[Sequence[Request]] = []
        for _ in range(count):
            problem = problem_number(next(self.numbers))
            self.duration[problem.id] = self.rng.choice(self.durations)
            request = Request(problem=problem, sample_index=0, prompt_ids=(1,), budget_tokens=4)
            found.append([request])
        return found

    def generate(
        self, requests: Iterable[Request], *, slots: int | None = None
    ) -> Iterator[tuple[int, Response]]:
        coming = enumerate(requests)
        running: list[tuple[float, int, Request]] = []
        room = self.slots if slots is None else min(slots, self.slots)
        version = self.version
        while True:
            for index, request in itertools.islice(coming, room - len(running)):
                ends = self.now + self.duration[request.problem.id]
                heapq.heappush(running, (ends, index, request))
            if not running:
                return
            ends, index, request = heapq.heappop(running)
            self.busy += (len(running) + 1) * (ends - self.now)
            self.now = ends
            yield index, answer(request, policy_version=version)

    def score(self, sampled: Sequence[Sampled]) -> list[Group]:
        groups = []
        for problem, responses in sampled:
            solved = 0.8 if self.duration[problem.id] == SHORT else 0.2
            right = self.rng.random() < solved
            groups.append(
                Group(problem=problem, responses=responses, rewards=[float(right)], correct=[right])
            )
        return groups

    def is_long(self, group: Group) -> bool:
        return self.duration[group.problem.id] == LONG
