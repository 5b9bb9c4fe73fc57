"""Episodes of known length on a clock: short ones are mostly solved, long ones mostly not."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence

from limite.core.rollout_kinds import Request
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


def never_waiting(
    groups: int, slots: int, updates: int, seed: int
) -> tuple[list[float], dict[bool, float]]:
    """Slots that are filled as they fall free, through updates: nothing is abandoned or waited for.

    The share of long episodes in each batch of ``groups``, and the mean lag, in updates since an
    episode was begun, of long ones (True) and short ones.
    """
    rng, numbers = random.Random(seed), itertools.count()
    running: list[tuple[float, int, bool, int]] = []

    def begin(now: float, version: int) -> None:
        long = rng.random() < 0.5
        ends = now + (LONG if long else SHORT)
        heapq.heappush(running, (ends, next(numbers), long, version))

    for _ in range(slots):
        begin(0.0, 0)
    shares: list[float] = []
    lags: dict[bool, list[int]] = {True: [], False: []}
    for version in range(updates):
        kept = []
        for _ in range(groups):
            now, _, long, begun = heapq.heappop(running)
            kept.append(long)
            lags[long].append(version - begun)
            begin(now, version)  # the slot is filled before the update
        shares.append(sum(kept) / groups)
    return shares, {kind: sum(each) / len(each) for kind, each in lags.items() if each}
