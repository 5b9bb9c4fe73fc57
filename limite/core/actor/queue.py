"""The one batch between sampling and learning: which policy it is of, and that it is used once.

Sampling ahead runs in a thread, not in a process: torch lets go of the interpreter's lock inside
its operators, so sampling and learning do overlap; gradient and inference modes belong to a
thread; and components, tokenizer and device memory are there already, while a process would have
to be given all of them, weights at every batch. What both could reach is kept apart: the actor
samples with weights held for it, and it alone touches curriculum and rollout schedule.
"""

from __future__ import annotations

import contextvars
import copy
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

import attrs

from limite.core.errors import LimiteError

Prompts = Sequence[int]
"""What is asked for, as numbers: for a stage the steps whose batches are wanted. None: nothing."""

PolicyT = TypeVar("PolicyT")
BatchT = TypeVar("BatchT")


@attrs.frozen(kw_only=True)
class Snapshot(Generic[PolicyT]):
    """A policy and its version: how many updates were applied before it."""

    version: int
    policy: PolicyT


class Abandoned(Exception):
    """Raised by an actor that sees that nobody wants its batch any more, or that a stop was asked
    for and what it has of the batch is kept."""


class Actor(Protocol[PolicyT, BatchT]):
    """What samples. Its state is all that a batch depends on beside prompts and policy."""

    def hold(self, policy: PolicyT, /) -> PolicyT:
        """The policy as it is now: what is given stays so until the next call."""
        ...

    def sample(
        self, prompts: Prompts, snapshot: Snapshot[PolicyT], abandoned: Callable[[], bool], /
    ) -> BatchT:
        """A batch. It may raise ``Abandoned`` once ``abandoned()`` is true."""
        ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: Mapping[str, Any], /) -> None: ...

    def packed(self, batch: BatchT, /) -> Any:
        """A batch as plain data."""
        ...

    def unpacked(self, data: Any, /) -> BatchT: ...

    def is_cut_short(self, batch: BatchT, /) -> bool:
        """Whether a response in it was ended by a stop."""
        ...


@attrs.frozen(kw_only=True)
class Consumed(Generic[BatchT]):
    """A batch, the policies that sampled it and will learn from it, and the wait for it.

    ``stop`` says that it was begun after a stop was asked for.
    """

    batch: BatchT
    source_policy_version: int
    learner_policy_version: int
    wait_s: float
    stop: bool = False

    @property
    def policy_lag(self) -> int:
        return self.learner_policy_version - self.source_policy_version


@attrs.define(kw_only=True, eq=False)
class _Pending(Generic[PolicyT, BatchT]):
    """The batch in the slot. ``before`` is the actor's state from before it."""

    prompts: tuple[int, ...]
    snapshot: Snapshot[PolicyT] | None  # None: it is whole, and nothing is sampled for it
    version: int
    before: dict[str, Any]
    stop: bool = False
    thread: threading.Thread | None = None
    batches: list[BatchT] = attrs.field(factory=list)  # none, or the one
    error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return bool(self.batches) or self.error is not None


class Queue(Generic[PolicyT, BatchT]):
    """At most one batch is pending: sampled or being sampled, and not yet learned from.

    ``stop_requested`` says whether the run was asked to end. A batch whose lag, the learner's
    version less its own, is not within 0 and ``max_policy_lag`` is refused. An error of the actor
    is raised where the batch is waited for, once; the actor is then as it was before that batch.
    Not for use by several threads.
    """

    def __init__(
        self,
        actor: Actor[PolicyT, BatchT],
        *,
        max_policy_lag: int = 1,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> None:
        self._actor = actor
        self._max_policy_lag = max_policy_lag
        self._stop_requested = stop_requested
        self._newest: Snapshot[PolicyT] | None = None
        self._pending: _Pending[PolicyT, BatchT] | None = None
        self._abandon = threading.Event()
        self._closed = False

    @property
    def owed(self) -> Snapshot[PolicyT] | None:
        """The policy of a batch that a stop has dropped: it is sampled again with the same one."""
        pending = self._pending
        if pending is None or pending.thread is not None or pending.is_done:
            return None
        return pending.snapshot

    def publish(self, snapshot: Snapshot[PolicyT]) -> None:
        """Batches that are begun from now on are sampled with this policy."""
        self._refuse_closed()
        if self._newest is not None and snapshot.version < self._newest.version:
            raise LimiteError(
                f"policy version {snapshot.version} cannot follow version "
                f"{self._newest.version}: versions never go back"
            )
        self._newest = snapshot

    def prefetch(self, prompts: Prompts, *, background: bool = True) -> None:
        """Begins the batch with the policy as it is now; nothing happens without prompts.

        Without ``background`` it is there when this returns. In a stop nothing is sampled; which
        policy it is to be sampled with is kept all the same (``owed``).
        """
        self._refuse_closed()
        if not prompts:
            return
        if self._pending is not None:
            raise LimiteError(
                f"a batch of {_told(self._pending.prompts)} is pending, so none of "
                f"{_told(prompts)} can be begun: there is room for one"
            )
        pending = self._fill(prompts)
        if not self._stop_requested():
            self._run(pending, background=background)

    def consume(self, prompts: Prompts, learner_version: int) -> Consumed[BatchT]:
        """The batch that was asked for, once; it is begun here if none is pending.

        ``Abandoned`` where the actor leaves it in a stop: one that was begun here is then as if it
        had never been asked for, one from before is owed.
        """
        self._refuse_closed()
        begun_here = self._pending is None
        pending = self._pending or self._fill(prompts)
        if pending.prompts != tuple(prompts):
            raise LimiteError(
                f"the pending batch is of {_told(pending.prompts)}, and that of "
                f"{_told(prompts)} was asked for"
            )
        started = time.perf_counter()
        if self.owed is not None:
            self._run(pending, background=False)
        self._settle()
        if not pending.batches:
            if begun_here:
                self._pending = None
            raise Abandoned
        wait_s = time.perf_counter() - started
        self._pending = None
        consumed = Consumed(
            batch=pending.batches[0],
            source_policy_version=pending.version,
            learner_policy_version=learner_version,
            wait_s=wait_s,
            stop=pending.stop,
        )
        if not 0 <= consumed.policy_lag <= self._max_policy_lag:
            self._rewind(pending)
            raise LimiteError(
                f"the batch of {_told(prompts)} was sampled by policy version {pending.version}, "
                f"and the learner is at version {learner_version}: the lag must be within 0 and "
                f"{self._max_policy_lag} (max_policy_lag)"
            )
        return consumed

    def drain(self) -> None:
        """Waits until nothing is being sampled; the batch stays pending."""
        self._refuse_closed()
        self._settle()

    def checkpoint_state(self) -> dict[str, Any]:
        """Plain data from which ``restore`` goes on, once nothing is being sampled.

        In a stop a pending batch is dropped, and so is one with responses that a stop ended: the
        actor is as it was before it, and ``owed`` is the policy to sample it again with.
        """
        self._refuse_closed()
        stopping = self._stop_requested()
        if stopping:
            self._abandon.set()
        self._settle()
        pending = self._pending
        # One that was restored is whole, and what to sample it again with is gone.
        if (
            pending is not None
            and pending.snapshot is not None
            and (stopping or any(self._actor.is_cut_short(each) for each in pending.batches))
        ):
            self._drop(pending)
        self._abandon.clear()
        kept = None
        if pending is not None:
            kept = {
                "prompts": list(pending.prompts),
                "version": pending.version,
                "before": pending.before,
                "batch": self._actor.packed(pending.batches[0]) if pending.batches else None,
            }
        return {"sampler": self._actor.state(), "pending": kept}

    def restore(self, state: Mapping[str, Any], owed: PolicyT | None = None) -> None:
        """Goes on from ``checkpoint_state``; ``owed`` is the policy of a batch that was dropped."""
        self._refuse_closed()
        if self._pending is not None and self._pending.thread is not None:
            raise LimiteError("a batch is being sampled; nothing can be restored now")
        kept = state["pending"]
        pending: _Pending[PolicyT, BatchT] | None = None
        if kept is not None:
            snapshot = None
            if kept["batch"] is None:
                if owed is None:
                    raise LimiteError(
                        f"the batch of {_told(kept['prompts'])} must be sampled again by policy "
                        f"version {kept['version']}, which is not there"
                    )
                snapshot = Snapshot(version=kept["version"], policy=owed)
            pending = _Pending(
                prompts=tuple(kept["prompts"]),
                snapshot=snapshot,
                version=kept["version"],
                before=dict(kept["before"]),
                batches=[] if kept["batch"] is None else [self._actor.unpacked(kept["batch"])],
            )
        self._actor.restore(copy.deepcopy(state["sampler"]))
        self._pending = pending

    def close(self) -> None:
        """Ends what is being sampled, waits for that, and raises what the actor died of.

        Closing again does nothing.
        """
        if self._closed:
            return
        self._closed = True
        pending, self._pending = self._pending, None
        self._newest = None
        if pending is None:
            return
        self._abandon.set()
        if pending.thread is not None:
            pending.thread.join()
        if pending.error is not None and not isinstance(pending.error, Abandoned):
            raise pending.error

    def __enter__(self) -> Queue[PolicyT, BatchT]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception:
            # Why the block ended matters more than what the actor met meanwhile.
            if kind is None:
                raise

    def _refuse_closed(self) -> None:
        if self._closed:
            raise LimiteError("the queue is closed")

    def _fill(self, prompts: Prompts) -> _Pending[PolicyT, BatchT]:
        """Puts a batch that is not begun into the empty slot, with the policy as it is now."""
        if self._newest is None:
            raise LimiteError("no policy was published yet, so nothing can be sampled")
        held = attrs.evolve(self._newest, policy=self._actor.hold(self._newest.policy))
        self._pending = _Pending(
            prompts=tuple(prompts),
            snapshot=held,
            version=held.version,
            before=copy.deepcopy(self._actor.state()),
        )
        return self._pending

    def _run(self, pending: _Pending[PolicyT, BatchT], *, background: bool) -> None:
        """Samples a batch that is not begun, here or in a thread."""
        snapshot = pending.snapshot
        assert snapshot is not None
        pending.stop = self._stop_requested()

        def work() -> None:
            try:
                batch = self._actor.sample(pending.prompts, snapshot, self._abandon.is_set)
                pending.batches.append(batch)
            except BaseException as error:
                pending.error = error

        if not background:
            work()
            return
        # Which kernels were asked for, among others, is known to the context.
        context = contextvars.copy_context()
        pending.thread = threading.Thread(
            target=context.run, args=(work,), name="limite-actor", daemon=True
        )
        pending.thread.start()

    def _settle(self) -> None:
        """Waits for the pending batch, and raises what the actor died of."""
        pending = self._pending
        if pending is None:
            return
        if pending.thread is not None:
            pending.thread.join()
            pending.thread = None
        if isinstance(pending.error, Abandoned):
            self._drop(pending)
        elif pending.error is not None:
            self._pending = None
            self._rewind(pending)
            raise pending.error

    def _drop(self, pending: _Pending[PolicyT, BatchT]) -> None:
        """Takes the batch back: it is owed again, and the actor is as before it."""
        pending.batches.clear()
        pending.error = None
        self._rewind(pending)

    def _rewind(self, pending: _Pending[PolicyT, BatchT]) -> None:
        self._actor.restore(copy.deepcopy(pending.before))


def _told(prompts: Prompts) -> str:
    return ", ".join(map(str, prompts)) or "nothing"
