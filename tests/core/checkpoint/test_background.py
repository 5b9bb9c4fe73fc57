"""Checkpoints written beside training: the same bytes, one at a time, and no failure is lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from limite.core.checkpoint import background
from limite.core.checkpoint.background import CheckpointWriter, snapshot
from limite.core.checkpoint.manifest import verify
from limite.core.checkpoint.write import write_checkpoint
from limite.core.errors import LimiteError

Saying = list[str]


def silent(line: str) -> None:
    raise AssertionError(f"said {line!r}")


def values(step: int) -> dict[str, dict[str, torch.Tensor]]:
    """Tied weights, a view, an empty tensor and one of another dtype."""
    table = torch.arange(12.0).reshape(3, 4) + step
    return {
        "model": {
            "in": table,
            "out": table,
            "part": table[:, 1:3],
            "turned": table.t(),
            "none": torch.empty(0, 3),
            "half": torch.full((5,), step, dtype=torch.bfloat16),
        },
        "optimizer": {"moment": torch.full((3, 4), float(step))},
    }


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_files_are_those_of_a_plain_save(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        write_checkpoint(tmp_path / "plain", step, values(step), {"n": step}, {"of": "me"}, 2)
    with CheckpointWriter(background=True, echo=silent) as writer:
        for step in (1, 2, 3):
            writer.write(tmp_path / "beside", step, values(step), {"n": step}, {"of": "me"}, keep=2)
    assert contents(tmp_path / "beside") == contents(tmp_path / "plain")


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Writing begins when it is set."""
    go = threading.Event()

    def late(*arguments: Any, **more: Any) -> Path:
        assert go.wait(60)
        return write_checkpoint(*arguments, **more)

    monkeypatch.setattr(background, "write_checkpoint", late)
    return go


def test_what_changes_after_the_call_is_not_saved(tmp_path: Path, held: threading.Event) -> None:
    tensors = values(1)
    state: dict[str, Any] = {"seen": [1]}
    with CheckpointWriter(background=True, echo=silent) as writer:
        writer.write(tmp_path / "beside", 1, tensors, state, {}, keep=1)
        for part in tensors.values():
            for tensor in part.values():
                tensor.fill_(-7)
        state["seen"].append(2)
        held.set()
    write_checkpoint(tmp_path / "plain", 1, values(1), {"seen": [1]}, {}, 1)
    assert contents(tmp_path / "beside") == contents(tmp_path / "plain")


def test_a_copy_shares_nothing_but_what_was_shared() -> None:
    given = values(1)
    taken = snapshot(given)
    assert taken["model"]["in"] is taken["model"]["out"]
    own = {tensor.data_ptr() for part in given.values() for tensor in part.values()} - {0}
    copies = {tensor.data_ptr() for part in taken.values() for tensor in part.values()} - {0}
    assert not own & copies


def test_one_at_a_time_and_logs_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: Saying = []

    def noted(folder: Path, step: int, *more: Any, **others: Any) -> Path:
        told.append(f"begin {step}")
        path = write_checkpoint(folder, step, *more, **others)
        told.append(f"end {step}")
        return path

    monkeypatch.setattr(background, "write_checkpoint", noted)
    with CheckpointWriter(background=True, echo=silent) as writer:
        for step in (1, 2, 3):
            writer.write(
                tmp_path, step, values(step), {}, {}, 9, before=lambda: told.append("logs")
            )
    assert told == [word for step in (1, 2, 3) for word in ("logs", f"begin {step}", f"end {step}")]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Called, it makes room again."""

    def full(*_: Any) -> None:
        raise OSError(28, os.strerror(28))

    patch = pytest.MonkeyPatch()
    patch.setattr(os, "fsync", full)
    return patch.undo


def test_a_failed_save_is_raised_at_the_next_one(
    tmp_path: Path, full_disk: Callable[[], None]
) -> None:
    with CheckpointWriter(background=True, echo=silent) as writer:
        writer.write(tmp_path, 1, values(1), {}, {}, 1)
        with pytest.raises(LimiteError, match="step-000001: no space left"):
            writer.write(tmp_path, 2, values(2), {}, {}, 1)
        full_disk()
        # It is told once: whoever made room goes on.
        writer.write(tmp_path, 2, values(2), {}, {}, 1)
    verify(tmp_path / "step-000002")
    assert [entry.name for entry in tmp_path.iterdir()] == ["step-000002"]


def test_a_failed_save_is_raised_at_the_end(tmp_path: Path, full_disk: Callable[[], None]) -> None:
    writer = CheckpointWriter(background=True, echo=silent)
    with pytest.raises(LimiteError, match="no space left"), writer:
        writer.write(tmp_path, 1, values(1), {}, {}, 1)
    full_disk()
    writer.wait()


def test_a_failed_save_is_told_beside_another_error(
    tmp_path: Path, full_disk: Callable[[], None]
) -> None:
    said: Saying = []
    writer = CheckpointWriter(background=True, echo=said.append)

    def train() -> None:
        with writer:
            writer.write(tmp_path, 7, values(1), {}, {}, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    full_disk()
    assert "the checkpoint of step 7 could not be written: " in said[-1]
    assert "no space left" in said[-1]


def test_what_cannot_be_stored_is_refused_in_the_background_too(tmp_path: Path) -> None:
    writer = CheckpointWriter(background=True, echo=silent)
    with pytest.raises(LimiteError, match="'ghost' is without values"), writer:
        writer.write(tmp_path, 1, {"m": {"ghost": torch.empty(2, device="meta")}}, {}, {}, 1)
