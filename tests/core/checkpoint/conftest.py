"""Small checkpoints, and disks that fail at a chosen call."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.checkpoint.write import write_checkpoint

Save = Callable[..., Path]
FailAt = Callable[[int], contextlib.AbstractContextManager[list[str]]]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """``save(step)`` writes a checkpoint whose every value tells its step."""

    def write(
        step: int,
        *,
        keep: int = 2,
        pinned: Collection[int] = (),
        folder: Path = tmp_path / "checkpoints",
    ) -> Path:
        weights: dict[str, Tensor] = {
            "weight": torch.full((3, 5), float(step)),
            "scale": torch.tensor(step + 0.5, dtype=torch.bfloat16),
        }
        moments = {"state/0/step": torch.tensor(float(step)), "m": torch.arange(7.0) * step}
        return write_checkpoint(
            folder,
            step,
            {"model": weights, "optimizer": moments},
            {"clocks": {"step": step, "time_s": 0.25}},
            {"budget": "fixed-response"},
            keep,
            pinned=pinned,
        )

    return write


@pytest.fixture
def fail_at(monkeypatch: pytest.MonkeyPatch) -> FailAt:
    """``with fail_at(n) as calls``: the n-th call that changes the disk finds it full."""

    @contextlib.contextmanager
    def failing(number: int) -> Iterator[list[str]]:
        calls: list[str] = []

        def wrap(name: str, really: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **more: Any) -> Any:
                calls.append(name)
                if len(calls) - 1 == number:
                    if name == "write" and len(arguments[1]) > 1:
                        # A full disk takes what still fits.
                        really(arguments[0], arguments[1][: len(arguments[1]) // 2])
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return really(*arguments, **more)

            return call

        with monkeypatch.context() as patch:
            for name in ("write", "fsync", "rename", "replace", "mkdir"):
                patch.setattr(os, name, wrap(name, getattr(os, name)))
            yield calls

    return failing
