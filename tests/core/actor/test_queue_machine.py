"""Publishing, sampling ahead, consuming, saving, stopping, failing and restoring in any order.

Whatever happens, the batch of a step holds the responses that a plain account of it gives: it is
not lost, not repeated, and of the policy it says. The actor is a fake whose responses tell which
weights and which place in its stream they come from.
"""

from __future__ import annotations

import json
import threading
from typing import Any

import attrs
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from limite.core.actor.queue import Abandoned, Queue, Snapshot
from limite.core.checkpoint.state import decode, encode
from limite.core.errors import LimiteError

SIZE = 3  # responses of a batch
MAX_LAG = 1


class Died(Exception):
    """What the actor dies of when it is told to."""


@attrs.define
class Weights:
    """Changed in place by the learner, as real ones are."""

    value: int


def weights_of(version: int) -> int:
    return 1000 + 7 * version


def account(step: int, version: int, *, cut: bool = False) -> list[tuple[int, int, int, str]]:
    """The batch of a step by a policy: its prompt, its places in the stream, the weights."""
    ends = ["eos"] * (SIZE - 1) + ["stop" if cut else "eos"]
    return [(step, SIZE * step + i, weights_of(version), ends[i]) for i in range(SIZE)]


class FakeActor:
    """Draws from a stream that goes on from batch to batch; slowly, or not to its end.

    It may die in the middle of a batch, end one of its responses early, or leave the batch.
    """

    def __init__(self) -> None:
        self.drawn = 0
        self.gate = threading.Event()
        self.gate.set()
        self.fails = self.cuts = self.leaves = False
        self._held = Weights(-1)

    def hold(self, policy: Weights) -> Weights:
        self._held.value = policy.value
        return self._held

    def sample(self, prompts, snapshot, abandoned):
        fails, self.fails = self.fails, False
        cuts, self.cuts = self.cuts, False
        leaves, self.leaves = self.leaves, False
        (step,) = prompts
        found = []
        for index in range(SIZE):
            last = index == SIZE - 1
            found.append(
                (step, self.drawn, snapshot.policy.value, "stop" if cuts and last else "eos")
            )
            self.drawn += 1
            if index == 1:
                while not self.gate.wait(0.0005):
                    if abandoned():
                        raise Abandoned
                if leaves:
                    raise Abandoned
                if fails:
                    raise Died
        return found

    def state(self) -> dict[str, Any]:
        return {"drawn": self.drawn}

    def restore(self, state) -> None:
        self.drawn = state["drawn"]

    def packed(self, batch):
        return {"responses": batch}

    def unpacked(self, data):
        return list(data["responses"])

    def is_cut_short(self, batch) -> bool:
        return any(end == "stop" for *_, end in batch)


@attrs.frozen
class Expected:
    """What is known of the batch in the slot."""

    step: int
    version: int
    begun: bool
    background: bool = False  # and nobody has waited for it yet
    fails: bool = False
    cut: bool = False
    leaves: bool = False
    stop: bool = False
    restored: bool = False


@attrs.frozen
class Saved:
    """A checkpoint, and what was known when it was written."""

    text: str
    owed: int | None
    step: int
    version: int
    expected: Expected | None


class QueueMachine(RuleBasedStateMachine):
    queue_class: type[Queue] = Queue

    def __init__(self) -> None:
        super().__init__()
        self.step = 0  # the batch that is due
        self.version = 0
        self.stop = False
        self.expected: Expected | None = None
        self.saved: Saved | None = None

    @initialize()
    def begin(self) -> None:
        self.new_process(self.version)

    def new_process(self, version: int) -> None:
        self.actor = FakeActor()
        self.learner = Weights(weights_of(version))
        self.queue = self.queue_class(
            self.actor, max_policy_lag=MAX_LAG, stop_requested=lambda: self.stop
        )

    # The learner

    @rule()
    def publish(self) -> None:
        self.queue.publish(Snapshot(version=self.version, policy=self.learner))

    @rule()
    def update(self) -> None:
        """An update that was applied; the weights change under whoever did not hold them."""
        self.version += 1
        self.learner.value = weights_of(self.version)
        self.queue.publish(Snapshot(version=self.version, policy=self.learner))

    @precondition(lambda self: self.version > 0)
    @rule()
    def publish_an_older_one(self) -> None:
        self.publish()
        with pytest.raises(LimiteError, match="never go back"):
            self.queue.publish(Snapshot(version=self.version - 1, policy=self.learner))

    # The operator

    @rule()
    def ask_to_stop(self) -> None:
        self.stop = True

    @rule(what=st.sampled_from(["fails", "cuts", "leaves"]))
    def something_is_about_to_happen(self, what: str) -> None:
        setattr(self.actor, what, True)

    # The queue

    def begun(self, expected: Expected) -> Expected:
        leaves = self.actor.leaves
        return attrs.evolve(
            expected,
            begun=True,
            fails=self.actor.fails and not leaves,
            cut=self.actor.cuts and not leaves,
            leaves=leaves,
            stop=self.stop,
        )

    @rule(background=st.booleans(), slow=st.booleans())
    def prefetch(self, background: bool, slow: bool) -> None:
        self.publish()
        if self.expected is not None:
            with pytest.raises(LimiteError, match="there is room for one"):
                self.queue.prefetch((self.step + 1,), background=background)
            return
        self.expected = Expected(self.step, self.version, begun=False)
        if not self.stop:
            self.expected = attrs.evolve(self.begun(self.expected), background=background)
            if background and slow:
                self.actor.gate.clear()
        self.queue.prefetch((self.step,), background=background)

    @rule()
    def prefetch_nothing(self) -> None:
        self.queue.prefetch(())

    def settled(self) -> bool:
        """Whether waiting will succeed; afterwards nothing is on its way."""
        self.actor.gate.set()
        if self.expected is not None and self.expected.begun and self.expected.fails:
            self.expected = None
            return False
        if self.expected is not None and self.expected.leaves:
            self.expected = Expected(self.expected.step, self.expected.version, begun=False)
        if self.expected is not None:
            self.expected = attrs.evolve(self.expected, background=False)
        return True

    @rule()
    def consume(self) -> None:
        self.publish()
        pending = self.expected is not None
        if self.expected is None:
            self.expected = Expected(self.step, self.version, begun=False)
        if not self.expected.begun:
            self.expected = self.begun(self.expected)
        expected = self.expected
        if not self.settled():
            with pytest.raises(Died):
                self.queue.consume((self.step,), self.version)
            return
        if expected.leaves:
            if not pending:  # it was never there
                self.expected = None
            with pytest.raises(Abandoned):
                self.queue.consume((self.step,), self.version)
            return
        self.expected = None
        if self.version - expected.version > MAX_LAG:
            with pytest.raises(LimiteError, match="the lag must be"):
                self.queue.consume((self.step,), self.version)
            return
        taken = self.queue.consume((self.step,), self.version)
        assert taken.batch == account(self.step, expected.version, cut=expected.cut)
        assert taken.source_policy_version == expected.version
        assert taken.learner_policy_version == self.version
        assert taken.policy_lag == self.version - expected.version
        assert taken.stop == expected.stop
        self.step += 1

    @precondition(lambda self: self.expected is not None)
    @rule()
    def consume_another(self) -> None:
        with pytest.raises(LimiteError, match="was asked for"):
            self.queue.consume((self.step + 1,), self.version)

    @rule()
    def drain(self) -> None:
        if self.settled():
            self.queue.drain()
        else:
            with pytest.raises(Died):
                self.queue.drain()

    @rule()
    def checkpoint(self) -> None:
        held_back = not self.actor.gate.is_set()
        expected = self.expected
        if expected is not None and expected.begun and self.stop and held_back:
            dropped = True  # in the middle of it, and before it could fail
        else:
            if not self.settled():
                with pytest.raises(Died):
                    self.queue.checkpoint_state()
                return
            expected = self.expected
            dropped = (
                expected is not None
                and not expected.restored
                and (self.stop or (expected.begun and expected.cut))
            )
        if expected is not None and dropped:
            self.expected = Expected(expected.step, expected.version, begun=False)
        state = self.queue.checkpoint_state()
        self.actor.gate.set()
        assert (state["pending"] is not None) == (self.expected is not None)
        owed = self.queue.owed
        assert (owed is not None) == (self.expected is not None and not self.expected.begun)
        if owed is not None:
            assert owed.version == self.expected.version
            assert owed.policy.value == weights_of(owed.version)
            assert state["sampler"] == {"drawn": SIZE * self.step}
        self.saved = Saved(
            text=json.dumps(encode(state)),
            owed=None if owed is None else owed.policy.value,
            step=self.step,
            version=self.version,
            expected=self.expected,
        )

    def restored(self, queue: Queue) -> None:
        assert self.saved is not None
        owed = None if self.saved.owed is None else Weights(self.saved.owed)
        queue.restore(decode(json.loads(self.saved.text)), owed=owed)

    @precondition(lambda self: self.saved is not None)
    @rule()
    def die_and_go_on(self) -> None:
        """A new process goes on from the checkpoint; whatever came after it is forgotten."""
        assert self.saved is not None
        self.end()
        self.stop = False
        self.step, self.version = self.saved.step, self.saved.version
        self.expected = self.saved.expected
        if self.expected is not None and self.expected.begun:
            self.expected = attrs.evolve(self.expected, restored=True, stop=False)
        self.new_process(self.version)
        self.restored(self.queue)

    @precondition(lambda self: self.saved is not None)
    @precondition(lambda self: self.expected is not None and self.expected.background)
    @rule()
    def restore_while_it_samples(self) -> None:
        with pytest.raises(LimiteError, match="nothing can be restored now"):
            self.restored(self.queue)

    @invariant()
    def the_stream_is_where_it_should_be(self) -> None:
        if not hasattr(self, "actor"):
            return
        expected = self.expected
        if expected is None or not expected.begun:
            assert self.actor.drawn == SIZE * self.step
        elif not expected.background and not expected.fails and not expected.leaves:
            assert self.actor.drawn == SIZE * (self.step + 1)

    def end(self) -> None:
        """Closing never hangs, and tells what the actor died of unless that was told."""
        expected = self.expected
        open_gate = self.actor.gate.is_set()
        if expected is not None and expected.begun and expected.fails and open_gate:
            with pytest.raises(Died):
                self.queue.close()
        else:
            self.queue.close()
        self.queue.close()
        with pytest.raises(LimiteError, match="closed"):
            self.queue.drain()

    def teardown(self) -> None:
        if hasattr(self, "queue"):
            self.end()


TestQueueMachine = QueueMachine.TestCase
