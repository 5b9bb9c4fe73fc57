"""Checkpoints written while training goes on: copied first, one at a time, no failure lost."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import attrs
from torch import Tensor

from limite.core.checkpoint.tensors import DeferredTensor, Storable, file_order, memory_of
from limite.core.checkpoint.write import write_checkpoint
from limite.core.errors import LimiteError


def snapshot(payloads: Mapping[str, Mapping[str, Storable]]) -> dict[str, dict[str, Tensor]]:
    """Copies in host memory. Two names of one tensor are two names of one copy.

    Deferred tensors are made in the order in which a checkpoint is written.
    """
    copies: dict[tuple[object, ...], Tensor] = {}

    def copied(tensor: Storable) -> Tensor:
        if isinstance(tensor, DeferredTensor):
            return tensor.make()
        tensor = tensor.detach()
        # What cannot be copied is refused, by its name, when it is written.
        if tensor.is_meta or not tensor.numel():
            return tensor
        key = memory_of(tensor)
        if key not in copies:
            copies[key] = tensor.to("cpu", copy=True)
        return copies[key]

    return {
        payload: {
            name: copied(tensors[name])
            for name in file_order({name: each.dtype for name, each in tensors.items()})
        }
        for payload, tensors in payloads.items()
    }


@attrs.define
class _Job:
    """One checkpoint under way, and what became of it."""

    step: int
    thread: threading.Thread
    error: BaseException | None = None


class CheckpointWriter:
    """Writes checkpoints: at once, or, with ``background``, in a thread while training goes on.

    The files are the same byte for byte. In the background there is one job at a time, so that a
    save waits for the one before it; for as long as one is under way, host memory holds what it
    writes. A save that failed raises its error at the next one, at ``wait``, or as the ``with``
    block ends. Where that block ends with an error of its own, ``echo`` hears of the failed save.
    """

    def __init__(self, *, background: bool, echo: Callable[[str], None]) -> None:
        self.background = background
        self._echo = echo
        self._job: _Job | None = None

    def write(
        self,
        directory: Path,
        step: int,
        payloads: Mapping[str, Mapping[str, Storable]],
        state: Mapping[str, Any],
        contract: Mapping[str, Any],
        keep: int,
        *,
        pinned: Collection[int] = (),
        before: Callable[[], None] = lambda: None,
    ) -> None:
        """Does what ``write_checkpoint`` does, after ``before``."""
        self.wait()
        if not self.background:
            before()
            write_checkpoint(directory, step, payloads, state, contract, keep, pinned=pinned)
            return
        tensors = snapshot(payloads)
        numbers, terms = copy.deepcopy(dict(state)), copy.deepcopy(dict(contract))

        def work() -> None:
            try:
                before()
                write_checkpoint(directory, step, tensors, numbers, terms, keep, pinned=pinned)
            except BaseException as error:
                job.error = error

        # A daemon: who presses Ctrl-C again and again does not wait for a slow disk.
        job = _Job(step, threading.Thread(target=work, name=f"save-{step}", daemon=True))
        self._job = job
        job.thread.start()

    def wait(self) -> None:
        """Returns when nothing is under way; raises what went wrong with it."""
        if self._job is None:
            return
        self._job.thread.join()
        error, self._job = self._job.error, None
        if error is not None:
            raise error

    def __enter__(self) -> CheckpointWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.wait()
            return
        step = None if self._job is None else self._job.step
        if self._job is not None and self._job.thread.is_alive():
            self._echo(f"waiting until the checkpoint of step {step} is written")
        try:
            self.wait()
        except LimiteError as failed:
            self._echo(f"the checkpoint of step {step} could not be written: {failed}")
