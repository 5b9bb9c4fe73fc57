"""A process that judges answers and can be killed: each answer has a hard deadline."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from limite.core.errors import RunFailed
from limite.core.types import Verdict
from limite.problems.verifiers.serve import HEADER, LOADING_S

DEADLINE_S = 5.0
"""What one answer may take, from when the worker begins with it."""

MEMORY_BYTES = 2 * 1024**3
_ENCODER = json.JSONEncoder()
_AHEAD = 64  # requests under way before their verdicts are read
_BUFFERED = 1_000_000  # bytes on their way, beyond which no further request is written out

_START = (
    "import sys; sys.path[:] = {path!r}; "
    "from limite.problems.verifiers.serve import main; main({memory}, {deadline})"
)

Request = Mapping[str, Any]


class Ended(Exception):
    """The worker is gone, or did not answer in time."""


class Worker:
    """One worker process, started when it is first needed and again after it was killed.

    Safe to use from several threads, which take turns. After a fork the child starts its own.
    """

    def __init__(self, deadline_s: float = DEADLINE_S, memory_bytes: int = MEMORY_BYTES) -> None:
        self.deadline_s = deadline_s
        self.memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._received = bytearray()
        self._to_send = bytearray()
        _WORKERS.add(self)

    def judge(self, requests: Sequence[Request]) -> list[Verdict]:
        """A verdict for each request, in order, whatever becomes of the worker on the way."""
        with self._lock:
            verdicts: list[Verdict] = []
            died = 0
            while len(verdicts) < len(requests):
                done = len(verdicts)
                try:
                    self._answer(requests, verdicts)
                except Ended as error:
                    self._kill()
                    if str(error) == "deadline":
                        reason = f"no verdict within {self.deadline_s:g} s"
                        verdicts.append(Verdict(outcome="timed-out", reason=reason))
                        died = 0
                        continue
                    # Whoever killed it may have meant it and not this answer: once more.
                    died = died + 1 if len(verdicts) == done else 1
                    if died > 1:
                        reason = "limit: the worker ended while it judged this"
                        verdicts.append(Verdict(outcome="unreadable", reason=reason))
                        died = 0
                except BaseException:
                    self._kill()  # an interrupt: what is in the pipes belongs to nobody
                    raise
            return verdicts

    def close(self) -> None:
        """Ends the process; the next call starts another."""
        with self._lock:
            self._kill()

    @property
    def pid(self) -> int | None:
        """The worker's process, while there is one."""
        return None if self._process is None else self._process.pid

    def _answer(self, requests: Sequence[Request], verdicts: list[Verdict]) -> None:
        """Appends verdicts until all are there; those that came before an Ended are kept."""
        if self._process is None:
            self._start()
        sent = len(verdicts)
        while len(verdicts) < len(requests):
            if sent - len(verdicts) <= _AHEAD // 2:  # many go out at once: each write costs
                sent = self._hand_out(requests, sent, len(verdicts) + _AHEAD)
            verdicts.append(Verdict(**self._verdict()))

    def _hand_out(self, requests: Sequence[Request], sent: int, until: int) -> int:
        """Puts requests on their way, as far as there is room; the number of the next one."""
        until = min(until, len(requests))
        while sent < until and len(self._to_send) <= _BUFFERED:
            data = _ENCODER.encode(requests[sent]).encode()
            self._to_send += HEADER.pack(len(data)) + data
            sent += 1
        return sent

    def _verdict(self) -> dict[str, Any]:
        """The next verdict. Loading computer algebra on the way has a deadline of its own."""
        message = self._take(self.deadline_s)
        while "loading" in message:
            message = self._take(LOADING_S if message["loading"] else self.deadline_s)
        return message

    def _start(self) -> None:
        start = _START.format(path=sys.path, memory=self.memory_bytes, deadline=self.deadline_s)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", start],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the caller; its worker ends with it
                env=os.environ | {"OMP_NUM_THREADS": "1", "SYMPY_USE_CACHE": "yes"},
            )
        except OSError as error:
            raise RunFailed(f"the process that judges answers did not start: {error}") from error
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        try:
            self._take(LOADING_S)
        except Ended as error:
            self._kill()
            raise RunFailed("the process that judges answers did not start") from error

    def _take(self, seconds: float) -> dict[str, Any]:
        """The next message, while what is still to send goes out."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        source, sink = self._process.stdout.fileno(), self._process.stdin.fileno()
        if self._to_send:
            self._send(sink)
        message = self._complete()
        if message is not None:
            return message
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as ready:
            ready.register(source, selectors.EVENT_READ)
            if self._to_send:
                ready.register(sink, selectors.EVENT_WRITE)
            while message is None:
                left = until - time.monotonic()
                if left <= 0:
                    raise Ended("deadline")
                for key, _ in ready.select(left):
                    if key.fd == source:
                        received = os.read(source, 1 << 16)
                        if not received:
                            raise Ended("it is gone")
                        self._received += received
                    else:
                        self._send(sink)
                        if not self._to_send:
                            ready.unregister(sink)
                message = self._complete()
        return message

    def _send(self, sink: int) -> None:
        try:
            sent = os.write(sink, memoryview(self._to_send)[: 1 << 20])
        except BlockingIOError:
            return
        except BrokenPipeError as error:
            raise Ended("it is gone") from error
        del self._to_send[:sent]

    def _complete(self) -> dict[str, Any] | None:
        if len(self._received) < HEADER.size:
            return None
        (size,) = HEADER.unpack_from(self._received)
        if len(self._received) < HEADER.size + size:
            return None
        data = bytes(self._received[HEADER.size : HEADER.size + size])
        del self._received[: HEADER.size + size]
        message: dict[str, Any] = json.loads(data)
        return message

    def _kill(self) -> None:
        self._to_send.clear()
        self._received.clear()
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def forget(self) -> None:
        """Lets go of a process that belongs to the parent of this one."""
        self._lock = threading.Lock()
        self._to_send.clear()
        self._received.clear()
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()
            process.returncode = 0  # not ours to wait for


_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()


def _close_all() -> None:
    for worker in list(_WORKERS):
        worker.close()


def _forget_all() -> None:
    for worker in list(_WORKERS):
        worker.forget()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
