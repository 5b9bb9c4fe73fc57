"""Where a run computes, in which dtype, and how it is kept bit-for-bit repeatable."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import torch
import torch.utils.deterministic

from limite.core.errors import LimiteError

SMALL_PARAMETERS = 10_000_000
OMP_NUM_THREADS = "OMP_NUM_THREADS"
COMPILER = "TORCHINDUCTOR_DETERMINISTIC"
ERROR = 2
"""Torch's mode in which an operation that does not repeat itself raises."""


def choose_device(name: str | None = None) -> torch.device:
    """The device named, or else a GPU where there is one and the CPU where not.

    One that is named and cannot be used is an error, never quietly another.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise LimiteError(f"device: {name!r} is no device; name 'cpu' or 'cuda'") from error
    if device.type not in ("cpu", "cuda"):
        raise LimiteError(f"device: limite runs on 'cpu' and 'cuda', not on {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise LimiteError(f"device: {name!r} was asked for, and torch finds no such GPU here")
    return device


def default_dtype(device: torch.device) -> torch.dtype:
    """The dtype of weights on ``device``: float32.

    On a GPU weights in bfloat16 beside float32 masters are the goal; until the optimizers keep
    masters, float32 is what is exact there too.
    """
    del device
    return torch.float32


def threads_for(parameters: int) -> int:
    """How many CPU threads a model of that size is worth, and ``OMP_NUM_THREADS`` allows.

    Below ten million parameters the handing out of work costs more than it saves.
    """
    allowed = allowed_threads()
    if parameters < SMALL_PARAMETERS:
        return 1
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(there or 1, allowed or there or 1)


def allowed_threads() -> int | None:
    """What ``OMP_NUM_THREADS`` says of the outermost level; None where it is not set."""
    said = os.environ.get(OMP_NUM_THREADS, "").strip()
    if not said:
        return None
    first = said.partition(",")[0].strip()
    if not (first.isascii() and first.isdigit()) or int(first) < 1:
        raise LimiteError(f"{OMP_NUM_THREADS}: expected a number of threads, got {said!r}")
    return int(first)


@contextlib.contextmanager
def deterministic(threads: int = 1) -> Iterator[None]:
    """Within it torch gives the same bits every time; after it, everything is as it was.

    ``threads`` is part of what repeats: sums over more threads round differently.
    """
    if threads < 1:
        raise LimiteError(f"threads must be at least 1, got {threads}")
    mode = torch.get_deterministic_debug_mode()
    before = torch.get_num_threads()
    benchmark = torch.backends.cudnn.benchmark
    fill = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    # cuBLAS repeats itself only with a workspace of fixed size, which it reads from here.
    workspace = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    compiler = os.environ.get(COMPILER)
    try:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        os.environ[COMPILER] = "1"  # for one that is imported from here on
        _set_mode(ERROR)
        torch.backends.cudnn.benchmark = False
        # Poisoned memory is for tests; in a run it would write every new tensor twice.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        torch.set_num_threads(threads)
        yield
    finally:
        torch.set_num_threads(before)
        torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
        torch.backends.cudnn.benchmark = benchmark
        _set_mode(mode)
        for name, value in (("CUBLAS_WORKSPACE_CONFIG", workspace), (COMPILER, compiler)):
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _set_mode(mode: int) -> None:
    """Torch's way of dealing with operations that do not repeat themselves.

    ``torch.use_deterministic_algorithms`` says the same, and imports the whole compiler to tell it
    too: more than a second. Only one that is there needs to be told.
    """
    if "torch._inductor.config" in sys.modules:
        torch.use_deterministic_algorithms(mode != 0, warn_only=mode != ERROR)
    else:
        torch.set_deterministic_debug_mode(mode)
