"""Processes of their own for what may raise, hang, run out of memory or take a device down."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

LONGEST_REASON = 240  # characters


class Failed(Exception):
    """A task came to nothing, for the reason given."""


def reason_of(error: BaseException) -> str:
    """One line about an exception, without paths of this machine."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    text = re.sub(r"(?:/[\w.+@-]+)+/([\w.+@-]+)", r"\1", text)
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


class Worker:
    """A process that runs functions one at a time, and is replaced when one of them ends it."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Connection | None = None

    def call(self, function: Callable[..., Any], *arguments: Any, limit_s: float) -> Any:
        """What the function returns. ``Failed`` where it raises, ends the process or overruns."""
        if self._process is None or not self._process.is_alive():
            self._start()
        pipe = self._pipe
        assert pipe is not None
        try:
            pipe.send((function, arguments))
            if not pipe.poll(max(limit_s, 0.0)):
                self.close()
                raise Failed(f"not done within {limit_s:.0f} s")
            done, value, lasting = pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            self._process.join(10)
            code = self._process.exitcode
            self.close()
            raise Failed(f"the process ended with exit code {code}") from error
        if lasting:
            self.close()
        if not done:
            raise Failed(value)
        return value

    def _start(self) -> None:
        self.close()
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None


@contextlib.contextmanager
def worker() -> Iterator[Worker]:
    """One worker, gone at the end."""
    one = Worker()
    try:
        yield one
    finally:
        one.close()


def run_all(
    tasks: Sequence[tuple[Any, ...]], *, processes: int, deadline: float, limit_s: float
) -> list[Any]:
    """Results of ``(function, *arguments)`` in order, or the ``Failed`` of each that came to none.

    Spread over processes; ``deadline`` is by ``time.monotonic``, and each has ``limit_s`` at most.
    """
    workers = [Worker() for _ in range(min(processes, len(tasks)))]
    free = list(workers)

    def run(task: tuple[Any, ...]) -> Any:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return Failed("dropped: no time left for it")
        mine = free.pop()
        try:
            return mine.call(*task, limit_s=min(limit_s, left_s))
        except Failed as failure:
            over = time.monotonic() >= deadline
            return Failed("dropped: cut off when its time was up") if over else failure
        finally:
            free.append(mine)

    try:
        with ThreadPoolExecutor(max(len(workers), 1)) as threads:
            return list(threads.map(run, tasks))
    finally:
        for each in workers:
            each.close()


def _serve(pipe: Connection) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, function(*arguments), False)
        except Exception as error:
            answer = (False, reason_of(error), _device_is_lost())
        gc.collect()
        pipe.send(answer)


def _end_with_parent() -> None:
    """Whatever ends the run, no task goes on without it."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _device_is_lost() -> bool:
    """Whether the GPU no longer answers this process, as after an access out of bounds."""
    import torch

    if not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return False
    gc.collect()
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:
        return True
    return False
