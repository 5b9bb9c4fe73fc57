"""Calls that wait for a server, several at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def as_they_come(calls: Iterable[Callable[[], T]], at_once: int) -> Iterator[tuple[int, T]]:
    """What each call gives, with how many came before it, in order of completion.

    A call is taken only when there is room to begin it. The first error is raised here; calls under
    way then, or when the iterator is closed, are left to themselves: their threads keep no process
    alive.
    """
    ended: queue.SimpleQueue[tuple[int, T | None, BaseException | None]] = queue.SimpleQueue()
    coming, running = enumerate(calls), 0

    def run(index: int, call: Callable[[], T]) -> None:
        try:
            ended.put((index, call(), None))
        except BaseException as error:
            ended.put((index, None, error))

    while True:
        while running < at_once:
            following = next(coming, None)
            if following is None:
                break
            threading.Thread(target=run, args=following, name="endpoint", daemon=True).start()
            running += 1
        if not running:
            return
        index, value, error = ended.get()
        running -= 1
        if error is not None:
            raise error
        yield index, value  # type: ignore[misc]
