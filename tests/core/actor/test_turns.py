"""Who samples when: what is refused, and which policy a batch is of."""

from __future__ import annotations

import pytest

from limite.core.actor.queue import Queue, Snapshot
from limite.core.actor.turns import Turns
from limite.core.errors import LimiteError


class Recorder:
    """An actor that notes what it is asked to do."""

    def __init__(self) -> None:
        self.said = []

    def hold(self, policy):
        return policy

    def sample(self, prompts, snapshot, _abandoned):
        self.said.append(f"sample {prompts[0]} with {snapshot.version}")
        return [prompts[0], snapshot.version]

    def state(self):
        return {"sampled": len(self.said)}

    def restore(self, state):
        self.said.append("restore")

    def packed(self, batch):
        return batch

    def unpacked(self, data):
        return data

    def is_cut_short(self, _batch):
        return False


class Barrier:
    rank = 0

    def __init__(self, said, world_size=1):
        self.said, self.world_size = said, world_size

    def arrive(self, what):
        self.said.append(f"at {what}")

    def gather(self, value, what):
        return [value]


def steps_of(schedule, overlap=False, updates=(1, 1, 1, 1)):
    """What happens over four batches, and the lag of each."""
    actor = Recorder()
    queue = Queue(actor)
    turns = Turns(queue, schedule=schedule, overlap=overlap, rendezvous=Barrier(actor.said))
    version, lags = 0, []
    for step, applied in enumerate(updates):
        queue.publish(Snapshot(version=version, policy=None))
        following = (step + 1,) if step + 1 < len(updates) else ()
        taken = turns.take((step,), following, version)
        assert taken.batch == [step, taken.source_policy_version]
        lags.append(taken.policy_lag)
        queue.drain()
        actor.said.append(f"update {step}")
        version += applied
    queue.close()
    return actor.said, lags


def test_before_update_samples_the_next_batch_with_the_policy_as_it_is():
    said, lags = steps_of("before-update")
    assert said == [
        *("sample 0 with 0", "sample 1 with 0", "at batch 0", "update 0"),
        *("sample 2 with 1", "at batch 1", "update 1"),
        *("sample 3 with 2", "at batch 2", "update 2"),
        *("at batch 3", "update 3"),
    ]
    assert lags == [0, 1, 1, 1]
    again, same = steps_of("before-update", overlap=True)
    assert same == lags
    assert [each for each in again if not each.startswith("at")] == [
        each for each in said if not each.startswith("at")
    ]


def test_after_update_samples_with_what_the_update_left():
    said, lags = steps_of("after-update")
    assert said == [
        line
        for step in range(4)
        for line in (f"sample {step} with {step}", f"at batch {step}", f"update {step}")
    ]
    assert lags == [0, 0, 0, 0]


def test_a_batch_without_signal_leaves_the_next_at_lag_0():
    assert steps_of("before-update", updates=(0, 1, 0, 1))[1] == [0, 0, 1, 0]


def test_a_batch_sampled_ahead_is_used_once_after_the_schedule_has_changed():
    before = Recorder()
    queue = Queue(before)
    queue.publish(Snapshot(version=4, policy=None))
    Turns(queue, schedule="before-update", overlap=False).take((8,), (9,), 4)
    state = queue.checkpoint_state()
    actor = Recorder()
    queue = Queue(actor)
    queue.restore(state)
    turns = Turns(queue, schedule="after-update", overlap=False)
    queue.publish(Snapshot(version=5, policy=None))
    actor.said.clear()
    legacy = turns.take((9,), (10,), 5)
    assert legacy.batch == [9, 4]
    assert legacy.policy_lag == 1
    assert actor.said == []  # nothing was sampled for it
    queue.publish(Snapshot(version=6, policy=None))
    assert turns.take((10,), (), 6).batch == [10, 6]
    assert actor.said == ["sample 10 with 6"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"schedule": "sometimes", "overlap": False}, "no schedule 'sometimes'; there are"),
        ({"schedule": "after-update", "overlap": True}, "nothing overlaps with"),
        ({"schedule": "before-update", "overlap": True, "ranks": 2}, "2 ranks need a rendezvous"),
        (
            {"schedule": "before-update", "overlap": True, "rendezvous": Barrier([], 3)},
            "there are 1 ranks, and the rendezvous is of 3",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_touched(settings, why):
    actor = Recorder()
    with pytest.raises(LimiteError, match=why):
        Turns(Queue(actor), **settings)
    assert actor.said == []


def test_a_pause_waits_for_the_actor_and_then_for_the_others():
    actor = Recorder()
    queue = Queue(actor)
    turns = Turns(queue, schedule="before-update", overlap=True, rendezvous=Barrier(actor.said))
    queue.publish(Snapshot(version=0, policy=None))
    queue.prefetch((0,))
    turns.pause("an evaluation")
    assert actor.said == ["sample 0 with 0", "at an evaluation"]
    assert turns.take((0,), (), 0).batch == [0, 0]


def test_a_batch_that_is_too_old_is_refused():
    actor = Recorder()
    queue = Queue(actor, max_policy_lag=2)
    queue.publish(Snapshot(version=0, policy=None))
    queue.prefetch((0,))
    with pytest.raises(LimiteError, match=r"by policy version 0.*at version 3: .*within 0 and 2"):
        queue.consume((0,), 3)
    with pytest.raises(LimiteError, match="no policy was published"):
        Queue(actor).prefetch((0,))
