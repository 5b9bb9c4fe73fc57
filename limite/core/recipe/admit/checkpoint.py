"""Gate: a checkpoint, read in a new process, leads to the update that would have come anyway."""

from __future__ import annotations

import shutil
import subprocess
import sys

from limite.core.checkpoint.manifest import step_name
from limite.core.recipe.admit.canary import STEPS, Bench
from limite.core.recipe.admit.report import Gate
from limite.core.recipe.admit.small_run import (
    differing_entries,
    differing_tensors,
    left_by,
    run_small,
)
from limite.core.recipe.admit.tolerances import verdict
from limite.core.recipe.rundir import RunDirectory

NEXT_UPDATE = f"{__package__}.next_update"
TOLD = 2000  # characters of what a process that failed has said


def checkpoint(bench: Bench) -> Gate:
    """A small run to its end, and the same from its first checkpoint in another process."""
    context = run_small(bench, "uninterrupted", bench.stage)
    again = context.run.path.with_name("reloaded")
    shutil.copytree(context.run.path, again)
    reloaded = RunDirectory.open(again).stage(bench.name)
    for step in range(2, STEPS + 1):
        shutil.rmtree(reloaded / "checkpoints" / step_name(step))
    ended = subprocess.run(
        [sys.executable, "-m", NEXT_UPDATE, str(again), bench.name, str(bench.threads)],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        told = (ended.stderr or ended.stdout).strip()[-TOLD:]
        return Gate(name="checkpoint", error=f"the new process ended with an error: {told}")
    whole, other = left_by(context.directory), left_by(reloaded)
    tensors = differing_tensors(whole, other)
    states = differing_entries(whole.state, other.state)
    rollouts = differing_entries(whole.rollouts, other.rollouts)
    metrics = differing_entries(whole.metrics, other.metrics)
    first = left_by(context.directory, 1).updates
    return Gate(
        name="checkpoint",
        verdicts=[
            verdict("checkpoint/differing_tensors", len(tensors)),
            verdict("checkpoint/differing_states", len(states)),
            verdict("checkpoint/differing_rollouts", len(rollouts)),
            verdict("checkpoint/differing_metrics", len(metrics)),
            verdict("checkpoint/updates", min(first, whole.updates - first)),
        ],
        recorded={
            "steps": STEPS,
            "updates": whole.updates,
            "tensors": len(whole.tensors),
            "differing": {
                "tensors": tensors,
                "states": states,
                "rollouts": rollouts,
                "metrics": metrics,
            },
        },
    )
