"""Whose turn it is: sampling a batch ahead of the update before it, or only when it is wanted."""

from __future__ import annotations

from typing import Generic

from limite.core.actor.queue import BatchT, Consumed, PolicyT, Prompts, Queue
from limite.core.actor.rendezvous import Alone, Rendezvous
from limite.core.errors import LimiteError

BEFORE_UPDATE, AFTER_UPDATE = "before-update", "after-update"
SCHEDULES = (BEFORE_UPDATE, AFTER_UPDATE)


class Turns(Generic[PolicyT, BatchT]):
    """One batch for the learner after the other.

    ``before-update``: the batch after is begun before the learner has this one, so it is of the
    policy before this one's updates. With ``overlap`` both go on at once, otherwise it is sampled
    first; the results are the same. ``after-update``: a batch is sampled when it is asked for, by
    the newest policy. What does not go together is refused before anything is touched.
    """

    def __init__(
        self,
        queue: Queue[PolicyT, BatchT],
        *,
        schedule: str,
        overlap: bool,
        ranks: int = 1,
        rendezvous: Rendezvous | None = None,
    ) -> None:
        if schedule not in SCHEDULES:
            raise LimiteError(f"no schedule {schedule!r}; there are {' and '.join(SCHEDULES)}")
        if schedule == AFTER_UPDATE and overlap:
            raise LimiteError(
                f"nothing overlaps with the schedule {AFTER_UPDATE!r}: a batch waits for the "
                "policy that the update before it leaves"
            )
        if rendezvous is None and ranks > 1:
            raise LimiteError(f"{ranks} ranks need a rendezvous on the host")
        self._rendezvous = Alone() if rendezvous is None else rendezvous
        if self._rendezvous.world_size != ranks:
            raise LimiteError(
                f"there are {ranks} ranks, and the rendezvous is of {self._rendezvous.world_size}"
            )
        self._queue = queue
        self._ahead = schedule == BEFORE_UPDATE
        self._overlap = overlap

    def take(self, prompts: Prompts, following: Prompts, learner_version: int) -> Consumed[BatchT]:
        """The batch to learn from now; all ranks have theirs when this returns.

        ``following`` is what the batch after it will be asked for with, nothing if there is none.
        """
        consumed = self._queue.consume(prompts, learner_version)
        if self._ahead:
            self._queue.prefetch(following, background=self._overlap)
            if not self._overlap:
                self._queue.drain()
        self._rendezvous.arrive(f"batch {', '.join(map(str, prompts))}")
        return consumed

    def pause(self, what: str) -> None:
        """Waits until no rank samples any more: what comes next wants models and judges alone."""
        self._queue.drain()
        self._rendezvous.arrive(what)
