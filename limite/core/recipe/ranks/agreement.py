"""What ranks must agree on before the first step: refused here, with who differs in what."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import read_json
from limite.core.receipts import differences
from limite.core.recipe.ranks.ranks import Ranks
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.rundir import RECEIPT, RunDirectory
from limite.core.recipe.stages import RL

CLOCKS_APART_S = 60.0
_MAY_DIFFER = ("git", "hardware", "source_sha256")


def refuse_different_ranks(ranks: Ranks, receipt: Mapping[str, Any]) -> None:
    """Refuses ranks that would run something else: other settings, files, seeds or versions.

    Clocks that are more than a minute apart are refused as well: they would make one log of times
    that no reader can put in order.
    """
    if ranks.world_size == 1:
        return
    ours = {key: value for key, value in receipt.items() if key not in _MAY_DIFFER}
    ranks.host.arrive("the comparison of what is run")  # so that clocks are read together
    told = ranks.host.gather([ours, time.time()], "what each rank is going to run")
    firsts, clock_s = told[0]
    faults = []
    for rank, (theirs, time_s) in enumerate(told):
        found = differences(firsts, theirs, ignore=())
        if abs(time_s - clock_s) > CLOCKS_APART_S:
            found.append(f"clock: {time_s - clock_s:+.0f} s from that of rank 0")
        faults += [f"rank {rank}: {line}" for line in found[:10]]
    if faults:
        raise LimiteError(
            "the ranks would not run the same (rank 0 -> the other):\n  " + "\n  ".join(faults)
        )


def refuse_unequal_shares(ranks: Ranks, recipe: Recipe, chosen: Sequence[str]) -> None:
    """Refuses stages that this many ranks cannot share out."""
    size = ranks.world_size
    if size == 1:
        return
    faults = []
    for name in chosen:
        stage = recipe.stages[name]
        if not isinstance(stage, RL):
            continue
        if stage.groups % size:
            below = max((each for each in range(1, size) if not stage.groups % each), default=1)
            faults.append(
                f"stages.{name}.groups: {stage.groups} groups cannot be dealt evenly to {size} "
                f"ranks; take {below} ranks, or {-(-stage.groups // size) * size} groups"
            )
        if getattr(type(stage.rollout_schedule), "first_come", False):
            faults.append(
                f"stages.{name}.rollout_schedule: {type(stage.rollout_schedule).__name__} learns "
                "from what ends first, which several ranks cannot tell alike; run it on one"
            )
    if faults:
        raise LimiteError("\n".join(faults))


def refuse_unsharded(ranks: Ranks, recipe: Recipe, chosen: Sequence[str]) -> None:
    """Refuses stages whose weights cannot be shared out, where ranks are to share them out."""
    if not ranks.sharded:
        return
    faults = []
    for name in chosen:
        stage = recipe.stages[name]
        if not stage.trains:
            continue
        if not stage.shared_out:
            faults.append(
                f"stages.{name}: a stage of type {stage.kind!r} is trained by rank 0 alone, which "
                "holds all of it; run it without --shard"
            )
            continue
        optimizer = getattr(stage, "optimizer", None)
        if not getattr(optimizer, "shards", False):
            faults.append(
                f"stages.{name}.optimizer: {type(optimizer).__name__} does not say that it "
                "can move parts of weights (shards = True); take another, or leave out --shard"
            )
    if faults:
        raise LimiteError("\n".join(faults))


def run_for_all(ranks: Ranks, make: Callable[[], RunDirectory]) -> RunDirectory:
    """The folder of the run, which rank 0 makes or opens and all others find; or a LimiteError."""
    if ranks.world_size == 1:
        return make()
    run = make() if ranks.rank == 0 else None
    here = os.fspath(Path(run.path).absolute()) if run is not None else ""
    told = ranks.host.gather(here, "the folder of the run")
    path = Path(told[0])
    fault = None if run is not None else missing(path)
    seal = None
    if fault is None:
        run = RunDirectory.open(path) if run is None else run
        seal = read_json(path / RECEIPT)
    found = ranks.host.gather([fault, seal], "a look into the folder of the run")
    faults = [
        f"rank {rank}: {fault or 'finds another receipt there'}"
        for rank, (fault, theirs) in enumerate(found)
        if fault or theirs != found[0][1]
    ]
    if faults:
        raise RunFailed(
            f"{path}, which rank 0 has made, is not one folder for all ranks; --out must lie "
            "where all of them can read:\n  " + "\n  ".join(faults)
        )
    assert run is not None
    return RunDirectory(path, run.stage_names)


def missing(path: Path) -> str | None:
    """Why a run's folder cannot be read here, if it cannot."""
    if not path.is_dir():
        return f"there is no such folder on {socket.gethostname()}"
    if not (path / RECEIPT).is_file():
        return f"it holds no {RECEIPT} on {socket.gethostname()}"
    return None


@contextlib.contextmanager
def written_by_one(ranks: Ranks, run: RunDirectory) -> Iterator[None]:
    """Within it rank 0 holds the lock of the run, for all."""
    with run.lock() if ranks.rank == 0 else contextlib.nullcontext():
        ranks.host.arrive("the lock of the run")
        yield
