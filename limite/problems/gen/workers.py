"""Processes that do what they are sent, each with a pipe of its own.

A process that is killed in the middle of an answer leaves a cut message in its pipe and nothing
else: no lock is shared, and no other process holds the end it wrote to, so that the loss is seen
at once whatever the process was doing.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import attrs

Task = tuple[Any, ...]


class WorkerLost(RuntimeError):
    """A process ended without having been asked to."""


@attrs.define(eq=False)
class Ticket:
    """A task that was sent, and its result once that is here."""

    done: bool = False
    result: Any = None


@attrs.define(eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    sent: deque[Ticket] = attrs.field(factory=deque)


class Workers:
    """``count`` processes that call ``work(*task)`` after ``begin(*arguments)``.

    Both functions are found by name in the new processes, which begin from nothing.
    """

    def __init__(
        self,
        count: int,
        work: Callable[..., Any],
        begin: Callable[..., None],
        arguments: Task,
    ) -> None:
        self.count = count
        context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        for _ in range(count):
            mine, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(theirs, work, begin, arguments), daemon=True
            )
            start(process)
            theirs.close()
            self._workers.append(_Worker(process, mine))

    def send(self, *task: Any) -> Ticket:
        """Sends a task to the process with the fewest waiting."""
        worker = min(self._workers, key=lambda each: len(each.sent))
        ticket = Ticket()
        try:
            worker.pipe.send(task)
        except OSError:
            raise WorkerLost from None
        worker.sent.append(ticket)
        return ticket

    def result(self, ticket: Ticket) -> Any:
        """What a task gave; an error that it raised is raised here."""
        while not ticket.done:
            self.receive(None)
        failed, value = ticket.result
        if failed:
            raise value
        return value

    def receive(self, timeout_s: float | None = 0.0) -> None:
        """Takes what is ready from every process, so that none waits for a full pipe.

        Waits for the first of it so long, or without end where that is None.
        """
        by_pipe = {worker.pipe: worker for worker in self._workers}
        for pipe in wait(list(by_pipe), timeout_s):
            worker = by_pipe[pipe]  # type: ignore[index]  # wait gives what it was given
            try:
                answer = worker.pipe.recv()
            except (EOFError, OSError):
                raise WorkerLost from None
            ticket = worker.sent.popleft()
            ticket.result, ticket.done = answer, True

    def close(self) -> None:
        """Ends the processes, whatever they are doing."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()


def start(process: BaseProcess) -> None:
    """Starts a process that Ctrl-C does not reach, from its first moment on.

    Ctrl-C goes to the whole group of processes; the one that writes decides what it means.
    """
    resource_tracker.ensure_running()  # starting it would let through what is held back here
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(
    pipe: Connection, work: Callable[..., Any], begin: Callable[..., None], arguments: Task
) -> None:
    begin(*arguments)
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return  # the process that asked is gone
        try:
            answer = (False, work(*task))
        except Exception as error:
            answer = (True, error)
        try:
            pipe.send(answer)
        except OSError:
            return
