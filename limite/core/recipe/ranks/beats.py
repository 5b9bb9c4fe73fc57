"""Signs of life: each rank leaves one in the store from time to time, and others look for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from limite.core.actor.rendezvous import Store

EVERY_S = 0.5


class Beats:
    """Within ``with``, this rank beats; ``lost`` names those that have fallen silent.

    A process that was killed or stopped is silent; one that waits for others is not. ``unheard``
    is called, in a thread, once the store has not taken a beat for ``patience_s``: whoever asks
    that store for anything waits in vain then, and cannot be told.
    """

    def __init__(
        self,
        store: Store,
        *,
        rank: int,
        world_size: int,
        patience_s: float = float("inf"),
        unheard: Callable[[], None] = lambda: None,
    ) -> None:
        self._patience_s = patience_s
        self._unheard = unheard
        self._count = 0
        self._joined = threading.Event()
        self._watch = threading.Thread(target=self._look_on, name="beats-watch", daemon=True)
        self._store = store
        self._rank = rank
        self._others = [each for each in range(world_size) if each != rank]
        self._heard: dict[int, tuple[str, float]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="beats", daemon=True)

    def __enter__(self) -> Beats:
        self._store.set(_key(self._rank), "0")
        self._thread.start()
        if self._patience_s < float("inf"):
            self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._joined.set()

    def _go_on(self) -> None:
        while not self._ended.wait(EVERY_S):
            try:
                self._store.set(_key(self._rank), str(self._count + 1))
                self._store.check([_key(self._rank)])  # which waits for an answer
            except RuntimeError:  # the store is gone, and with it those who would look
                self._joined.set()
                return
            self._count += 1

    def _look_on(self) -> None:
        # Counted in looks, not by the clock: a process that stood still itself is to go on.
        seen, looks = -1, 0
        while not self._joined.wait(EVERY_S):
            seen, looks = self._count, 0 if seen != self._count else looks + 1
            if looks * EVERY_S > self._patience_s:
                self._unheard()
                return

    def lost(self, within_s: float = 6 * EVERY_S) -> list[int]:
        """The ranks that leave no sign of life within ``within_s`` seconds; waits for no longer."""
        first = {rank: self.last(rank) for rank in self._others}
        silent = set(self._others)
        until = time.monotonic() + within_s
        while silent and time.monotonic() < until:
            time.sleep(EVERY_S / 4)
            silent = {rank for rank in silent if self.last(rank) == first[rank]}
        return sorted(silent)

    def silent(self, ranks: Sequence[int], for_s: float) -> list[int]:
        """Those of ``ranks`` that were not heard of for so long; it counts from the first look."""
        now = time.monotonic()
        for rank in ranks:
            sign = self.last(rank)
            if rank not in self._heard or self._heard[rank][0] != sign:
                self._heard[rank] = (sign, now)
        return [rank for rank in ranks if now - self._heard[rank][1] > for_s]

    def last(self, rank: int) -> str:
        """The last sign of a rank, which differs from the one before; empty while it has none."""
        try:
            if not self._store.check([_key(rank)]):
                return ""
            return self._store.get(_key(rank)).decode()
        except RuntimeError:
            return ""


def _key(rank: int) -> str:
    return f"limite/beat/rank-{rank}"
