"""Runs of the stage made small, from its first batch to its last, and what they leave."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import Tensor

from limite.core.checkpoint.manifest import step_name
from limite.core.checkpoint.read import read_checkpoint
from limite.core.device import deterministic
from limite.core.jsonl import read_jsonl
from limite.core.recipe.admit.canary import STEPS, Bench, canary_context, canary_run
from limite.core.recipe.context import StageContext
from limite.core.recipe.rundir import METRICS, ROLLOUTS
from limite.core.recipe.runners import rl
from limite.core.recipe.stages import RL


@attrs.frozen(kw_only=True, eq=False)
class Left:
    """What a small run leaves, clocks apart."""

    rollouts: Mapping[str, bytes]
    tensors: Mapping[str, Tensor]
    state: Mapping[str, Any]
    metrics: Mapping[int, Mapping[str, Any]]

    @property
    def updates(self) -> int:
        return int(self.state["clocks"]["updates"])


def run_small(bench: Bench, folder: str, stage: RL) -> StageContext:
    """The stage made small, run by its own runner in a folder of its own."""
    run = canary_run(bench.loaded, bench.folder, folder)
    context = canary_context(bench.loaded, bench.registry, bench.name, stage, run)
    with deterministic(bench.threads):
        rl.run(context)
    return context


def left_by(directory: Path, step: int = STEPS) -> Left:
    """What the stage in ``directory`` left at ``step``."""
    found = read_checkpoint(directory / "checkpoints" / step_name(step))
    state = {**found.state, "clocks": {**found.state["clocks"], "time_s": 0.0}}
    return Left(
        rollouts={
            each.name: each.read_bytes() for each in sorted((directory / ROLLOUTS).iterdir())
        },
        tensors={
            f"{payload}/{name}": tensor
            for payload, tensors in found.payloads.items()
            for name, tensor in tensors.items()
        },
        state=state,
        metrics={
            line["step"]: {
                name: value for name, value in line.items() if not name.startswith("time")
            }
            for line in read_jsonl(directory / METRICS)
        },
    )


def differing_tensors(ours: Left, theirs: Left) -> list[str]:
    """The names of tensors that are not the same bits, or are there once only."""
    return [
        name
        for name in sorted(ours.tensors.keys() | theirs.tensors.keys())
        if not _same(ours.tensors.get(name), theirs.tensors.get(name))
    ]


def differing_entries(ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> list[str]:
    """The keys under which two mappings do not hold the same."""
    keys = sorted(ours.keys() | theirs.keys(), key=str)
    absent = object()
    return [str(key) for key in keys if ours.get(key, absent) != theirs.get(key, absent)]


def _same(ours: Tensor | None, theirs: Tensor | None) -> bool:
    if ours is None or theirs is None or ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    first, second = (each.contiguous().reshape(-1).view(torch.uint8) for each in (ours, theirs))
    return torch.equal(first, second)
