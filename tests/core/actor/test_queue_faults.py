"""Faults planted in the queue: each is found by the machine that exercises it."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from limite.core.actor.queue import Queue
from limite.core.errors import LimiteError
from tests.core.actor.test_queue_machine import Died, QueueMachine


class LosesThePendingBatch(Queue):
    def checkpoint_state(self):
        return {**super().checkpoint_state(), "pending": None}


class SaysTheNewestVersion(Queue):
    def consume(self, prompts, learner_version):
        taken = super().consume(prompts, learner_version)
        return attrs.evolve(taken, source_policy_version=learner_version)


class ConsumesTwice(Queue):
    def consume(self, prompts, learner_version):
        pending = self._pending
        try:
            return super().consume(prompts, learner_version)
        finally:
            if pending is not None and pending.batches:
                self._pending = pending


class DoesNotRewind(Queue):
    def _rewind(self, pending):
        """Leaves the actor as it is."""


class DoesNotHold(Queue):
    def _fill(self, prompts):
        pending = super()._fill(prompts)
        pending.snapshot = self._newest
        return pending


class SamplesAgainWithTheNewest(Queue):
    def consume(self, prompts, learner_version):
        if self.owed is not None:
            self._pending = None
        return super().consume(prompts, learner_version)


class KeepsWhatWasCutShort(Queue):
    def _drop(self, pending):
        if pending.batches:
            return
        super()._drop(pending)


class OwesWhatItWasNeverAsked(Queue):
    def consume(self, prompts, learner_version):
        if self._pending is None:
            self._fill(prompts)
        return super().consume(prompts, learner_version)


@pytest.mark.parametrize(
    "broken",
    [
        LosesThePendingBatch,
        SaysTheNewestVersion,
        ConsumesTwice,
        DoesNotRewind,
        DoesNotHold,
        SamplesAgainWithTheNewest,
        KeepsWhatWasCutShort,
        OwesWhatItWasNeverAsked,
    ],
)
def test_a_planted_fault_is_found(broken):
    class Machine(QueueMachine):
        queue_class = broken

    once = settings(
        max_examples=200,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    with pytest.raises((AssertionError, LimiteError, Died, pytest.fail.Exception)):
        run_state_machine_as_test(Machine, settings=once)
