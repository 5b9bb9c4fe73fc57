"""Warm workers: programs run one after the other, or side by side, without starting anything."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from limite.core.errors import LimiteError
from limite.problems.sandbox import wire
from limite.problems.sandbox.backends import CHOICE, Setup, candidates, named
from limite.problems.sandbox.faults import NoSandbox, Unavailable
from limite.problems.sandbox.limits import Limits
from limite.problems.sandbox.result import Result
from limite.problems.sandbox.worker import Worker

WEAK = (
    "this program runs with resource limits alone: it can read files, reach the network and leave "
    "processes behind (--allow-weak-sandbox)"
)

Program = tuple[str, str, Sequence[Any]]
"""Source, entry, arguments."""


class WeakSandbox(UserWarning):
    """A program runs without walls around it."""


class Pool:
    """Up to ``size`` warm workers of the strongest backend that can be had, or of a given one.

    A worker starts when it is first needed and is replaced when it is lost. Safe to use from
    several threads. After a fork the child starts workers of its own.
    """

    def __init__(
        self,
        *,
        size: int | None = None,
        backend: str | None = None,
        setup: Setup | None = None,
        allow_weak: bool = False,
    ) -> None:
        self.size = size or max(1, len(os.sched_getaffinity(0)))
        self.setup = setup or Setup()
        self._backend = None if backend is None else named(backend, weak=allow_weak)
        self._allow_weak = allow_weak
        self._refused: NoSandbox | None = None
        self._fresh()
        _POOLS.add(self)

    def _fresh(self) -> None:
        self._idle: list[Worker] = []
        self._room = threading.BoundedSemaphore(self.size)
        self._lock = threading.Lock()
        self._closed = False

    @property
    def backend(self) -> str:
        """The backend that is used; a NoSandbox where there is none."""
        with self._lock:
            if self._backend is None:
                self._idle.append(self._start())
            assert self._backend is not None
            return self._backend

    def run(
        self, source: str, entry: str, args: Sequence[Any] = (), limits: Limits | None = None
    ) -> Result:
        """Runs ``source`` and returns what ``entry(*args)`` returned, or what became of it."""
        try:
            encoded = wire.encode(tuple(args))
        except wire.BadValue as error:
            raise LimiteError(f"an argument of a program: {error}") from error
        with self._room:
            # A worker may be lost by a kill from outside, or be used up by an earlier program, and
            # so may others that wait: what counts is that two were lost, the last one a new one.
            lost = 0
            while True:
                worker, fresh = self._worker()
                if worker.backend == "rlimits":
                    warnings.warn(WEAK, WeakSandbox, stacklevel=2)
                try:
                    result = worker.run(source, entry, encoded, limits or Limits())
                except wire.Closed:
                    lost += 1
                    if fresh and lost > 1:
                        break
                    continue
                with self._lock:
                    self._idle.append(worker)
                return result
        return Result(
            status="unavailable",
            error="the process that runs programs ended twice while it ran this one",
            backend=worker.backend,
            layers=worker.layers,
        )

    def run_all(self, programs: Iterable[Program], limits: Limits | None = None) -> list[Result]:
        """Runs many programs side by side; their results in order."""
        return self.run_each((program, limits or Limits()) for program in programs)

    def run_each(self, programs: Iterable[tuple[Program, Limits]]) -> list[Result]:
        """Runs many programs side by side, each with limits of its own; their results in order."""
        with ThreadPoolExecutor(self.size) as threads:
            return list(threads.map(self._run_one, programs))

    def _run_one(self, asked: tuple[Program, Limits]) -> Result:
        (source, entry, args), limits = asked
        return self.run(source, entry, args, limits)

    def pids(self) -> list[int]:
        """The processes of the workers that wait for a program."""
        with self._lock:
            return [worker.pid for worker in self._idle]

    def close(self) -> None:
        """Ends the workers; the next program starts others."""
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.close()

    def forget(self) -> None:
        """Lets go of workers that belong to the parent of this process."""
        workers = self._idle
        self._fresh()
        for worker in workers:
            worker.forget()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _worker(self) -> tuple[Worker, bool]:
        """A worker, and whether it has run nothing yet."""
        with self._lock:
            if self._idle:
                return self._idle.pop(), False
            if self._backend is None:  # the first of all: others wait for what it finds
                return self._start(), True
        return self._start(), True

    def _start(self) -> Worker:
        if self._backend is not None:
            return Worker(self._backend, self.setup)
        if self._refused is not None:  # what cannot be had is not tried for each program
            raise self._refused
        reasons: dict[str, str] = {}
        try:
            tried = candidates(weak=self._allow_weak)
        except LimiteError as error:  # no answer's fault, whoever asks
            raise NoSandbox({CHOICE: str(error)}) from None
        for backend in tried:
            try:
                worker = Worker(backend, self.setup)
            except Unavailable as error:
                reasons[backend] = str(error)
            else:
                self._backend = backend
                return worker
        self._refused = NoSandbox(reasons)
        raise self._refused


_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()
_KEPT: dict[tuple[Setup, bool], Pool] = {}
_allowed = [False]


@contextmanager
def weak_allowed() -> Iterator[None]:
    """While it lasts, ``pool`` and ``run`` may use the backend that holds nobody, if unasked."""
    before, _allowed[0] = _allowed[0], True
    try:
        yield
    finally:
        _allowed[0] = before


def pool(setup: Setup | None = None, *, allow_weak: bool | None = None) -> Pool:
    """The pool of this process for programs of one kind, made when it is first asked for.

    ``allow_weak`` None is what ``weak_allowed`` says.
    """
    key = setup or Setup(), _allowed[0] if allow_weak is None else allow_weak
    if key not in _KEPT:
        _KEPT[key] = Pool(setup=key[0], allow_weak=key[1])
    return _KEPT[key]


def run(
    source: str,
    entry: str,
    args: Sequence[Any] = (),
    limits: Limits | None = None,
    *,
    setup: Setup | None = None,
    allow_weak: bool | None = None,
) -> Result:
    """Runs ``source`` in the strongest sandbox there is, and calls its function ``entry``.

    ``args`` and the value are plain data: None, bool, int, float, complex, str, Fraction, Decimal,
    list, tuple, set, dict of these, and numbers are exact. Whatever the program does comes back as
    a ``Result``. Raises ``NoSandbox`` where no backend that holds a program can be had.
    """
    return pool(setup, allow_weak=allow_weak).run(source, entry, args, limits)


def _close_all() -> None:
    for each in list(_POOLS):
        each.close()


def _forget_all() -> None:
    for each in list(_POOLS):
        each.forget()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
