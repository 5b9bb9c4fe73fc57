"""The new process of the checkpoint gate: goes on with a small run from what is on disk."""

from __future__ import annotations

import sys
from pathlib import Path

from limite.core.device import deterministic
from limite.core.discover import load_registry
from limite.core.recipe.admit.canary import canary_context, canary_stage
from limite.core.recipe.load import load_recipe
from limite.core.recipe.rundir import RECIPE, RunDirectory
from limite.core.recipe.runners import rl


def go_on(path: Path, name: str, threads: int) -> None:
    """Takes the stage ``name`` of the small run in ``path`` to its end."""
    registry = load_registry()
    loaded = load_recipe(path / RECIPE, (), registry)
    stage, _ = canary_stage(loaded.recipe, name, registry)
    context = canary_context(loaded, registry, name, stage, RunDirectory.open(path))
    with deterministic(threads):
        rl.run(context)


if __name__ == "__main__":
    go_on(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
