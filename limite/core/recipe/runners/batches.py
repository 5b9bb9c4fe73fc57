"""The batches of an RL stage, each with the policy that sampled it, ahead of time or on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from limite.core.actor.queue import Consumed, Queue, Snapshot
from limite.core.actor.turns import BEFORE_UPDATE, Turns
from limite.core.checkpoint.state import decode, encode, module_payload
from limite.core.errors import LimiteError
from limite.core.recipe.declared import DATA, PROTOCOL, RANKS
from limite.core.recipe.runners.rollouts import Rollouts, Sampling
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.stages import RL

if TYPE_CHECKING:
    from torch import Tensor

    from limite.core.model.decoder import Decoder
    from limite.core.recipe.context import StageContext

SOURCE_POLICY = "source_policy"
"""The payload with the weights that a batch, dropped in a stop, is to be sampled with again."""

PENDING_BATCH = "pending_batch"
"""The payload with tokens and log-probabilities of a batch that is not learned from yet."""


def refuse_stale(taken: Consumed[Sampling], max_policy_lag: int) -> None:
    """Refuses a batch in which a schedule carries over what is older than any batch may be."""
    learner = taken.learner_policy_version
    groups = taken.batch.batch.groups
    oldest = min((each.policy_version for g in groups for each in g.responses), default=learner)
    if learner - oldest > max_policy_lag:
        raise LimiteError(
            f"the rollout schedule learns from a response of policy version {oldest}, with the "
            f"learner at version {learner}: the lag must be at most {max_policy_lag} "
            "(max_policy_lag)"
        )


class Batches:
    """Rollout batches in order, sampled before or after the updates of the one before.

    Its state is that of sampling, and the batch that is sampled and not yet learned from.
    """

    def __init__(self, context: StageContext, stage: RL, session: TrainingSession) -> None:
        self.stage = stage
        self.session = session
        self.rollouts = Rollouts(context, stage)
        self.queue: Queue[Decoder, Sampling] = Queue(
            self.rollouts,
            max_policy_lag=stage.max_policy_lag,
            # Of several ranks none may give up a batch that the others go on with.
            stop_requested=lambda: context.ranks.world_size == 1 and context.stop.requested,
        )
        self.turns = Turns(
            self.queue,
            schedule=stage.rollout_prefetch_schedule,
            overlap=stage.overlap_actor_learner,
            ranks=context.ranks.world_size,
            rendezvous=context.ranks.host,
        )
        if session.saved_state:
            self._restore(session.saved_state, session.saved_payloads)

    @classmethod
    @contextmanager
    def of(cls, context: StageContext, stage: RL, session: TrainingSession) -> Iterator[Batches]:
        """The batches of a stage; at the end nothing goes on being sampled."""
        batches = cls(context, stage, session)
        with batches.queue:
            yield batches

    def take(self, step: int) -> Consumed[Sampling]:
        """The batch of a step; the one after it is begun when the recipe says so."""
        session = self.session
        version = session.clocks.updates
        following = (step + 1,) if step + 1 < self.stage.steps else ()
        # What goes on being sampled after this has weights of its own: see ``Rollouts.hold``.
        with session.whole_decoder() as policy:
            self.queue.publish(Snapshot(version=version, policy=policy))
            taken = self.turns.take((step,), following, version)
        refuse_stale(taken, self.stage.max_policy_lag)
        return taken

    def pause(self, what: str) -> None:
        """Nothing is being sampled when this returns, on any rank; see ``Turns.pause``."""
        self.turns.pause(what)

    def metrics(self, taken: Consumed[Sampling]) -> dict[str, float]:
        """What the schedules say of a batch; of its lag only where there can be one."""
        said = self.rollouts.schedule_metrics(taken.batch, taken.learner_policy_version)
        if self.stage.rollout_prefetch_schedule != BEFORE_UPDATE and not taken.policy_lag:
            return said
        return {
            **said,
            "policy/source_version": taken.source_policy_version,
            "policy/learner_version": taken.learner_policy_version,
            "policy/lag_updates": taken.policy_lag,
            "time/wait_s": taken.wait_s,
        }

    def state(self) -> tuple[dict[str, Any], dict[str, Mapping[str, Tensor]]]:
        """Everything that later batches depend on beside the learner and seeds, and payloads."""
        state = self.queue.checkpoint_state()
        payloads: dict[str, Mapping[str, Tensor]] = {}
        owed = self.queue.owed
        if owed is not None and owed.version != self.session.clocks.updates:
            payloads[SOURCE_POLICY] = module_payload(owed.policy)
        # Without a pending batch a checkpoint is what it is under any schedule.
        pending: dict[str, Any] = {}
        if state["pending"] is not None:
            tensors: dict[str, Tensor] = {}
            batch = encode(state["pending"]["batch"], tensors=tensors)
            pending = {"pending": {**state["pending"], "batch": batch}}
            if tensors:
                payloads[PENDING_BATCH] = tensors
        return {**cast(dict[str, Any], state["sampler"]), **pending}, payloads

    def _restore(
        self, state: Mapping[str, Any], payloads: Mapping[str, Mapping[str, Tensor]]
    ) -> None:
        changed = self.session.changed
        pending = state.get("pending")
        if pending is not None and changed & {DATA, PROTOCOL, RANKS}:
            # It is of other problems, or of other budgets, or was shared out to other ranks: the
            # actor is as it was before it.
            state, pending = pending["before"], None
        owed = None
        if pending is not None and PENDING_BATCH in payloads:
            batch = decode(pending["batch"], payloads[PENDING_BATCH])
            pending = {**pending, "batch": batch}
        if pending is not None and pending["batch"] is None:
            weights = payloads.get(SOURCE_POLICY)
            with self.session.whole_decoder() as policy:
                owed = self.rollouts.held(module_payload(policy) if weights is None else weights)
        self.rollouts.changed = changed
        self.queue.restore({"sampler": state, "pending": pending}, owed=owed)
        self.rollouts.changed = frozenset()
