"""Where candidates come from: lines that were made before, this process, or others.

Each family's candidates come in the order of their indexes, whoever made them: what is done with
them depends on nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import loads
from limite.problems.gen.candidate import Made, Maker, source_of
from limite.problems.gen.request import Request
from limite.problems.gen.workers import WorkerLost, Workers

BATCH = 256
"""The most candidates that a worker sends at once."""

BEYOND = 32
"""How many candidates a worker makes at once beyond the places planned for, to begin with."""

AHEAD = 8
"""How many batches are under way for each process, so that none is idle while lines are written."""

LOOK_EVERY = 128
"""After so many candidates it is seen what has come: a process that cannot send cannot go on."""

STEP = 64
"""The most candidates that are made together."""

Executor = Literal["local", "ray"]
"""Whose processes make candidates: this machine's, or those of a Ray cluster."""

Known = tuple[int, int, Made]
"""The index of a share, of a candidate in it, and the candidate, as an earlier run left it."""


def known_lines(request: Request, lines: Iterable[bytes], place: Path) -> Iterator[Known]:
    """The candidates of lines that were made for this request, or for a shard of it."""
    order = {share.name: number for number, share in enumerate(request.shares)}
    sources = [source_of(share, request.seed) for share in request.shares]
    for number, line in enumerate(lines, start=1):
        record = loads(line)
        source = record.get("source", {})
        share = order.get(source.get("generator"), 0)
        index = source.get("index")
        if source != {**sources[share], "index": index}:
            raise LimiteError(
                f"{place}:{number}: was not made by this request; --force begins again"
            )
        yield share, index, (record["id"], line, "")


class Supply:
    """Gives the next candidate of any share.

    ``wanted`` is how many places each share has, and ``start`` the index its candidates begin
    with. Lines that are known come first; a candidate that is not among them, and stands before
    one that is, was refused or a repetition, and is made again to tell which. ``workers`` is how
    many processes make them: one is this process, but on a cluster; None, one or all of a cluster.
    """

    def __init__(
        self,
        request: Request,
        *,
        wanted: Sequence[int],
        start: Sequence[int],
        workers: int | None = 1,
        executor: Executor = "local",
        known: Iterable[Known] = (),
    ) -> None:
        self._request = request
        self._makers = [Maker(share, request.seed, request.verifier) for share in request.shares]
        self._next = list(start)
        self._known = iter(known)
        self._waiting: list[deque[tuple[int, Made]]] = [deque() for _ in request.shares]
        self._ahead: list[deque[Made]] = [deque() for _ in request.shares]
        self._over = False
        self._beyond = list(start)  # all known candidates of a share have smaller indexes
        self._end = [first + count for first, count in zip(start, wanted, strict=True)]
        self._workers = workers
        self._executor = executor
        self._pool: _Pool | None = None

    def take(self, share: int, seen: Container[bytes]) -> Made:
        """The next candidate of a share. One whose id is among ``seen`` may lack its line."""
        index = self._next[share]
        self._next[share] += 1
        waiting = self._waiting[share]
        while not waiting and not self._over:
            found = next(self._known, None)
            if found is None:
                self._over = True
                break
            self._waiting[found[0]].append(found[1:])
            self._beyond[found[0]] = found[1] + 1
        if waiting and waiting[0][0] == index:
            return waiting.popleft()[1]
        if waiting or index < self._beyond[share]:
            return self._makers[share](index, seen)
        if self._executor == "local" and self._workers in (None, 1):
            return self._made(share, index, seen)
        if self._pool is None:
            starts = [max(pair) for pair in zip(self._next, self._beyond, strict=True)]
            starts[share] = index
            self._pool = _Pool(self._hands(), starts, self._end)
        return self._pool.take(share)

    def _hands(self) -> _Hands:
        if self._executor == "ray":
            from limite.problems.gen.cluster import Cluster  # late: Ray is an extra

            return Cluster(self._request, self._workers)
        return Workers(self._workers or 1, _make, _begin, (self._request,))

    def _made(self, share: int, index: int, seen: Container[bytes]) -> Made:
        """A candidate made in this process, with those behind it that have places."""
        ahead = self._ahead[share]
        if not ahead:
            count = max(1, min(STEP, self._end[share] - index))
            ahead.extend(self._makers[share].make(range(index, index + count), seen))
        return ahead.popleft()

    def close(self) -> None:
        """Ends the workers, whatever they are doing."""
        if self._pool is not None:
            self._pool.close()


class _Hands(Protocol):
    """Processes that make batches of candidates: a share, the first index, and how many."""

    count: int

    def send(self, share: int, first: int, count: int, /) -> Any: ...

    def result(self, ticket: Any, /) -> list[Made]: ...

    def receive(self) -> None: ...

    def close(self) -> None: ...


class _Pool:
    """Candidates that other processes make ahead of time, in batches."""

    def __init__(self, hands: _Hands, start: Sequence[int], end: Sequence[int]) -> None:
        self._hands = hands
        self._start = list(start)
        self._end = end
        left = sum(max(0, last - first) for first, last in zip(start, end, strict=True))
        self._batch = max(1, min(BATCH, left // (2 * hands.count)))
        self._ahead = AHEAD * hands.count
        self._taken = 0
        self._beyond = [BEYOND] * len(start)
        self._pending: list[deque[Any]] = [deque() for _ in start]
        self._ready: list[deque[Made]] = [deque() for _ in start]

    def take(self, share: int) -> Made:
        ready = self._ready[share]
        self._taken += 1
        if not ready or self._taken % LOOK_EVERY == 0:
            try:
                if not ready:
                    ready.extend(self._batch_of(share))
                else:
                    self._hands.receive()
            except WorkerLost:
                raise RunFailed(
                    "a worker process was killed, perhaps for want of memory; "
                    "the same command goes on from what is there"
                ) from None
        return ready.popleft()

    def _batch_of(self, share: int) -> list[Made]:
        pending = self._pending[share]
        if not pending:
            self._submit(share)
        self._fill()
        batch = self._hands.result(pending.popleft())
        # All wait for a share that gives hardly anything new: every process is to search it.
        while self._beyond[share] == BATCH and len(pending) < 2 * self._hands.count:
            self._submit(share)
        self._fill()
        return batch

    def _submit(self, share: int) -> None:
        # Past the places that were planned for, only what replaces repetitions is wanted.
        first = self._start[share]
        left = self._end[share] - first
        if left > 0:
            batch = min(self._batch, left)
        else:  # twice as many each time: a space that is nearly exhausted takes many
            batch = self._beyond[share]
            self._beyond[share] = min(2 * batch, BATCH)
        self._start[share] += batch
        self._pending[share].append(self._hands.send(share, first, batch))

    def _fill(self) -> None:
        """Keeps the workers busy with the shares that have the largest part left to make."""
        while sum(map(len, self._pending)) < self._ahead:
            left = [
                (end - start) / max(1, end)
                for start, end in zip(self._start, self._end, strict=True)
            ]
            share = max(range(len(left)), key=left.__getitem__)
            if left[share] <= 0:
                return
            self._submit(share)

    def close(self) -> None:
        self._hands.close()


_makers: list[Maker] = []
_sent: list[set[bytes]] = []


def _begin(request: Request) -> None:
    _makers[:] = [Maker(share, request.seed, request.verifier) for share in request.shares]
    _sent[:] = [] if request.repeats else [set() for _ in request.shares]


def _make(share: int, first: int, count: int) -> list[Made]:
    # What this process sent of a share has a smaller index, so it will have been looked at before.
    # Of another share that is not certain.
    sent = _sent[share] if _sent else set()
    batch: list[Made] = []
    for start in range(first, first + count, STEP):
        made = _makers[share].make(range(start, min(start + STEP, first + count)), sent)
        if _sent:
            sent.update(bytes.fromhex(name) for name, _, refused in made if not refused)
        batch += made
    return batch
