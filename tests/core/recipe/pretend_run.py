"""Runs a recipe on a device that is not there: whatever mixes it with the host raises.

python pretend_run.py RECIPE FOLDER
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import torch


def plain(mode: Any = True) -> Any:
    """In place of inference mode, in which no tensor of ours can be made."""
    if callable(mode):
        return torch.no_grad()(mode)
    return torch.no_grad() if mode else contextlib.nullcontext()


torch.inference_mode = plain
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from killed_runs import traces  # noqa: E402
from pretend_device import DEVICE, pretend  # noqa: E402

from limite.core.recipe import engine  # noqa: E402
from limite.core.recipe.ranks.ranks import OneRank  # noqa: E402


def main(recipe: Path, folder: Path) -> None:
    # Drawing takes longer than the run.
    engine.write_report = lambda path: path / "report.html"
    sets = []
    if "[stages.distill]" in recipe.read_text():
        sets = [f"stages.distill.traces={traces(folder / 'traces.jsonl.zst')}"]
    with pretend():
        engine.start(recipe, overrides=sets, out=folder, name="there", ranks=OneRank(str(DEVICE)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
