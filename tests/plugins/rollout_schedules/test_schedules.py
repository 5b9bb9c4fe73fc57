"""Which episodes make a batch: the laws of every schedule, and the bias of who ends first."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from limite.core.errors import RunFailed
from limite.core.types import Group
from limite.plugins.conformance.rollout_schedule import Episodes, rollout_schedule_laws
from limite.plugins.rollout_schedules.complete_episodes import CompleteEpisodes
from limite.plugins.rollout_schedules.dynamic import Dynamic
from limite.plugins.rollout_schedules.fill_buffer import FillBuffer
from limite.plugins.rollout_schedules.oversample import Oversample

_spec = importlib.util.spec_from_file_location(
    "simulated_episodes", Path(__file__).with_name("simulated.py")
)
assert _spec is not None
assert _spec.loader is not None
simulated = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(simulated)
Clock, LONG = simulated.Clock, simulated.LONG

SCHEDULES = {
    "complete-episodes": CompleteEpisodes(),
    "oversample": Oversample(),
    "oversample-twice": Oversample(factor=2.0),
    "dynamic": Dynamic(),
    "fill-buffer": FillBuffer(),
    "fill-buffer-few": FillBuffer(ahead=0.5),
    "fill-buffer-carries": FillBuffer(discard=False),
}
LAWS = {
    f"{name}-{law}": run
    for name, schedule in SCHEDULES.items()
    for law, run in rollout_schedule_laws(schedule).items()
}


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_schedules_keep_the_laws(law: Callable[[], None]) -> None:
    law()


def played(schedule, slots, batches, groups=64, seed=3):
    """Shares of long episodes and of solved ones, mean time of a batch, use of slots, lags."""
    run, clock = schedule.build(groups, 1, seed), Clock(slots, seed)
    kept: list[Group] = []
    lags: dict[bool, list[int]] = {True: [], False: []}
    for version in range(batches):
        clock.version = version
        batch = run.next(clock)
        assert len(batch.groups) == groups
        kept += batch.groups
        for group in batch.groups:
            lags[clock.is_long(group)].append(version - group.responses[0].policy_version)
    return {
        "long": sum(map(clock.is_long, kept)) / len(kept),
        "reward": sum(group.rewards[0] for group in kept) / len(kept),
        "time": clock.now / batches,
        "use": clock.busy / (clock.now * slots),
        "lag": {kind: sum(each) / len(each) for kind, each in lags.items() if each},
        "latest": [max(each) for each in lags.values() if each],
    }


@pytest.mark.parametrize(
    ("groups", "slots", "time", "use"),
    [(64, 64, 10.0, 0.55), (64, 128, 10.0, 0.28), (64, 16, 27.1, 0.82), (256, 256, 10.0, 0.55)],
)
def test_complete_episodes_are_an_exact_sample(groups, slots, time, use):
    found = played(CompleteEpisodes(), slots, 400, groups)
    # 25,600 fair draws have a standard error of 0.003; 0.02 is what the schedule promises.
    assert abs(found["long"] - 0.5) < 0.02
    assert abs(found["reward"] - 0.5) < 0.02
    assert abs(found["time"] - time) < 0.4
    assert abs(found["use"] - use) < 0.02


@pytest.mark.parametrize(
    ("groups", "slots", "long", "reward", "time"),
    [
        (64, 64, 0.070, 0.759, 7.0),
        (64, 128, 0.000, 0.801, 1.5),
        (64, 16, 0.425, 0.545, 22.6),
        pytest.param(256, 256, 0.036, 0.779, 7.5, marks=pytest.mark.nightly),
    ],
)
def test_the_first_to_finish_are_short_and_easy(groups, slots, long, reward, time):
    found = played(FillBuffer(ahead=slots / groups), slots, 400, groups)
    assert abs(found["long"] - long) < 0.01
    assert abs(found["reward"] - reward) < 0.015
    assert abs(found["time"] - time) < 0.3


def test_what_is_carried_over_has_its_share_and_is_staler():
    found = played(FillBuffer(ahead=2.0, discard=False), 128, 200)
    assert abs(found["long"] - 0.5) < 0.02
    assert abs(found["reward"] - 0.5) < 0.02
    assert found["lag"][True] > found["lag"][False] + 0.5
    assert set(found["latest"]) == {1}
    later = FillBuffer(ahead=2.0, discard=False, late_batches=3)
    assert played(later, 128, 1)["long"] < 0.1
    assert max(played(later, 128, 20)["latest"]) == 2


@pytest.mark.parametrize(
    ("groups", "slots", "first", "long", "short"),
    [
        (64, 64, 0.070, 1.76, 0.24),
        (64, 128, 0.000, 3.54, 0.47),
        (64, 16, 0.425, 0.43, 0.07),
        pytest.param(256, 256, 0.036, 1.77, 0.23, marks=pytest.mark.nightly),
    ],
)
def test_never_waiting_restores_the_share_and_makes_long_episodes_stale(
    groups, slots, first, long, short
):
    """What carrying over costs where slots are filled through updates.

    The schedule waits for what is under way, under the weights it was begun with; it ends at the
    same share with less lag. The first batch is biased as if the rest were abandoned.
    """
    shares, lags = simulated.never_waiting(groups, slots, 300, seed=3)
    settled = shares[20:]
    assert abs(sum(settled) / len(settled) - 0.5) < 0.02
    assert abs(lags[True] - long) < 0.05
    assert abs(lags[False] - short) < 0.02
    firsts = [simulated.never_waiting(groups, slots, 2, seed)[0][0] for seed in range(60)]
    assert abs(sum(firsts) / len(firsts) - first) < 0.03
    waiting = played(FillBuffer(ahead=slots / groups, discard=False), slots, 60, groups)
    assert abs(waiting["long"] - 0.5) < 0.03
    assert waiting["lag"][True] <= min(1.0, lags[True])
    assert waiting["lag"][True] >= waiting["lag"][False]


@pytest.mark.parametrize(("groups", "share"), [(1, 0.25), (2, 0.1875), (8, 0.09819), (64, 0.03519)])
def test_the_closed_form_of_the_bias(groups, share):
    """2B episodes begin together, and the first B to end are kept."""
    exact = sum(
        math.comb(2 * groups, k) / 4**groups * max(0, groups - k) for k in range(2 * groups + 1)
    )
    assert exact / groups == pytest.approx(share, abs=1e-4)
    run, clock = FillBuffer(ahead=2.0).build(groups, 1, 0), Clock(2 * groups, 5, (1.0, 1000.0))
    # As many as begin together, and none after: the source gives no more in a batch.
    long, batches = 0, 6400 // groups
    for _ in range(batches):
        batch = run.next(Together(clock, 2 * groups))
        long += sum(clock.duration[group.problem.id] > 1.0 for group in batch.groups)
    error = math.sqrt(share / (batches * groups))
    assert abs(long / (batches * groups) - share) < 5 * error


class Together:
    """A clock whose episodes all begin at once: no slot is filled again."""

    def __init__(self, clock, count):
        self.clock, self.count = clock, count
        self.ask, self.score = clock.ask, clock.score

    def generate(self, requests, *, slots=None):
        first = [request for request, _ in zip(requests, range(self.count), strict=False)]
        return self.clock.generate(first, slots=slots)


def numbers(groups):
    return [int(group.problem.problem.split("+")[0]) for group in groups]


def test_oversampling_prefers_groups_that_differ_in_an_order_settled_before():
    episodes = Episodes(4, order=1)
    batch = Oversample(factor=3.0).build(4, 4, seed=0).next(episodes)
    assert episodes.asked == 12
    # Every third problem is neither all right nor all wrong: exactly four of twelve.
    assert numbers(batch.groups) == [1, 4, 7, 10]
    assert len(batch.dropped) == 8
    # Of four groups one or two differ, and two others fill the batch, by the seed alone.
    run = Oversample(factor=2.0)
    filled = {
        tuple(numbers(run.build(2, 4, seed=seed).next(Episodes(4, order)).groups))
        for seed in range(40)
        for order in range(3)
    }
    assert all(1 in each for each in filled)
    assert filled == {(0, 1), (1, 2), (1, 3)}
    assert Oversample(factor=1.1).build(10, 2, 0)._started == 11


def test_dynamic_sampling_goes_on_until_the_batch_is_full():
    episodes = Episodes(4, order=1)
    batch = Dynamic().build(4, 4, seed=0).next(episodes)
    assert numbers(batch.groups) == [1, 4, 7, 10]
    assert (batch.rounds, episodes.asked) == (3, 12)
    assert numbers(batch.dropped) == [0, 2, 3, 5, 6, 8, 9, 11]


def test_shaped_rewards_are_no_contrast():
    class Shaped(Episodes):
        def score(self, sampled):
            return [
                attrs.evolve(group, rewards=[float(at) for at in range(len(group.rewards))])
                for group in super().score(sampled)
            ]

    assert numbers(Dynamic().build(2, 4, seed=0).next(Shaped(4, order=1)).groups) == [1, 4]


@pytest.mark.parametrize("end", ["error", "train-partial", "skip-update"])
def test_dynamic_sampling_ends_as_it_was_told_to(end):
    run = Dynamic(max_rounds=2, at_max_rounds=end).build(4, 4, seed=0)
    episodes = Episodes(4, order=1)
    if end == "error":
        with pytest.raises(RunFailed, match=r"3 of 4 groups .* max_rounds = 2 rounds"):
            run.next(episodes)
        return
    batch = run.next(episodes)
    assert batch.rounds == 2
    assert numbers(batch.groups) == ([1, 4, 7] if end == "train-partial" else [])
    assert len(batch.groups) + len(batch.dropped) == episodes.asked == 8


def test_a_lost_response_is_noticed():
    class Loses(Episodes):
        def generate(self, requests, *, slots=None):
            return (each for each in super().generate(requests) if each[0])

    class Twice(Episodes):
        def generate(self, requests, *, slots=None):
            return ((0, response) for _, response in super().generate(requests))

    run = CompleteEpisodes().build(2, 2, seed=0)
    with pytest.raises(AssertionError, match="never answered"):
        run.next(Loses(2, 0))
    with pytest.raises(AssertionError, match="answered twice"):
        run.next(Twice(2, 0))
