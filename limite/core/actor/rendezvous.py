"""Where the processes of a run wait for each other, on the host: no device takes part.

A device collective must not be launched while a peer still samples: it would wait inside the
device, without a word. So each rank arrives here first, and whoever does not come is named.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Protocol

from limite.core.errors import RunFailed

TIMEOUT_S = 1800.0
_LOOK_EVERY_S = 0.01


class Rendezvous(Protocol):
    """A barrier of ``world_size`` ranks and a gathering of plain data, both with a time-out."""

    rank: int
    world_size: int

    def arrive(self, what: str) -> None:
        """Returns when all ranks have come; RunFailed names those that have not, and ``what``."""
        ...

    def gather(self, value: Any, what: str) -> Sequence[Any]:
        """What every rank gave, in order of rank; numbers, text, lists and objects, as JSON."""
        ...


class Alone:
    """The only rank there is."""

    rank = 0
    world_size = 1

    def arrive(self, what: str) -> None:
        """There is nobody to wait for."""

    def gather(self, value: Any, what: str) -> Sequence[Any]:
        return [json.loads(json.dumps(value))]


class Store(Protocol):
    """What is asked of a ``torch.distributed.Store``."""

    def set(self, key: str, value: str, /) -> None: ...

    def get(self, key: str, /) -> bytes: ...

    def check(self, keys: list[str], /) -> bool: ...

    def delete_key(self, key: str, /) -> bool: ...


class StoreRendezvous:
    """Ranks that meet in a ``torch.distributed`` store: on TCP, in a file, or in one process.

    The store must be new, and every rank come to the same meetings in the same order. What a
    meeting has left in the store is removed at the next one, when nobody can be reading it.
    """

    def __init__(
        self,
        store: Store,
        *,
        rank: int,
        world_size: int,
        timeout_s: float = TIMEOUT_S,
        purpose: str = "meeting",
        look_for: Callable[[Sequence[int], str], None] = lambda _missing, _what: None,
    ) -> None:
        """``purpose`` keeps meetings in one store apart that go on side by side; ``look_for`` is
        given the ranks that are waited for, and at what; it raises RunFailed if some will not come.
        """
        assert 0 <= rank < world_size
        self.rank = rank
        self.world_size = world_size
        self._store = store
        self.timeout_s = timeout_s
        self._purpose = purpose
        self._look_for = look_for
        self._meetings = 0

    def arrive(self, what: str) -> None:
        self.gather(None, what)

    def gather(self, value: Any, what: str) -> Sequence[Any]:
        meeting, self._meetings = self._meetings, self._meetings + 1
        told = json.dumps({"what": what, "value": value})
        self._store.set(self._key(meeting, self.rank), told)
        self._wait(meeting, what)
        texts = [self._store.get(self._key(meeting, rank)) for rank in range(self.world_size)]
        found = [json.loads(text) for text in texts]
        others = {rank: each["what"] for rank, each in enumerate(found) if each["what"] != what}
        if others:
            named = ", ".join(f"rank {rank} is at {there!r}" for rank, there in others.items())
            raise RunFailed(f"rank {self.rank} is at {what!r}, and {named}")
        # Whoever came here had read all of the meeting before.
        if meeting:
            self._store.delete_key(self._key(meeting - 1, self.rank))
        return [each["value"] for each in found]

    def _wait(self, meeting: int, what: str) -> None:
        deadline = time.monotonic() + self.timeout_s
        while True:
            missing = [
                rank
                for rank in range(self.world_size)
                if not self._store.check([self._key(meeting, rank)])
            ]
            if not missing:
                return
            self._look_for(missing, what)
            if time.monotonic() >= deadline:
                named = ", ".join(map(str, missing))
                raise RunFailed(
                    f"rank {self.rank} waited {timedelta(seconds=self.timeout_s)} at {what!r} "
                    f"for rank{'s' * (len(missing) > 1)} {named} of {self.world_size}, which did "
                    "not come"
                )
            time.sleep(_LOOK_EVERY_S)

    def _key(self, meeting: int, rank: int) -> str:
        return f"limite/{self._purpose}-{meeting}/rank-{rank}"
