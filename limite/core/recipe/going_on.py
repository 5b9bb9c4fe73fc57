"""Where a run stands, and what is done when it goes on with declared changes."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.checkpoint.manifest import read_manifest, step_name, step_of, verify
from limite.core.checkpoint.read import newest_checkpoint
from limite.core.checkpoint.state import decode
from limite.core.errors import LimiteError
from limite.core.jsonl import write_jsonl
from limite.core.receipts import BEGUN, FINISHED, LEFT
from limite.core.recipe.context import TRAINED, StageContext, trained_before
from limite.core.recipe.declared import CHANGES, DATA, Changed, Place, record, with_ranks_of
from limite.core.recipe.rundir import CHECKPOINTS, RunDirectory

_MADE = "data"
"""The folder of what a stage has made of its texts."""

_STAYS = ("git", "source_sha256", "hardware", "resumed", BEGUN, FINISHED, LEFT)
"""What a receipt keeps of the run until then."""


def named_checkpoint(path: Path) -> tuple[Path, Path | None]:
    """The run that ``path`` is, or that the checkpoint ``path`` belongs to, and that checkpoint."""
    whole = path.absolute()
    if step_of(path.name) is None or whole.parent.name != CHECKPOINTS:
        return path, None
    return (path if len(path.parents) > 4 else whole).parents[3], path


def refuse_other_than_newest(run: RunDirectory, checkpoint: Path) -> None:
    """Refuses to go on from a checkpoint that is damaged, of a finished stage, or not the newest.

    What a stage left after it would otherwise be lost without a word.
    """
    step = verify(checkpoint).step
    folder = checkpoint.absolute().parent
    name = next(each for each in run.stage_names if run.stage(each).name == folder.parent.name)
    if run.stage_receipt(name) is not None:
        raise LimiteError(
            f"{checkpoint}: the stage {name!r} is finished; to run it again: "
            f"limite run {run.path} --only {name}"
        )
    newest = newest_checkpoint(folder, only=())
    if newest is not None and newest.step != step:
        raise LimiteError(
            f"{checkpoint}: {newest.path.name} is newer, and good; the run goes on from that, or "
            "from this one once you have moved the newer ones away"
        )


def refuse_foreign_checkpoint(context: StageContext) -> None:
    """Refuses the newest checkpoint of a stage where it is of another recipe, version or number of
    ranks: before a stage is begun, and from its manifest alone."""
    folder = context.checkpoints
    steps = (step_of(entry.name) for entry in folder.iterdir()) if folder.is_dir() else ()
    for step in sorted((each for each in steps if each is not None), reverse=True):
        place = folder / step_name(step)
        try:
            manifest = read_manifest(place)
        except LimiteError:
            continue  # passed over, with a word, when the stage goes on
        context.refuse_foreign(attrs.evolve(manifest, contract=decode(manifest.contract)), place)
        return


def device_of(path: Path) -> str:
    """Where the run in ``path`` was computed, or one of its checkpoints."""
    run, _ = named_checkpoint(path)
    return str(RunDirectory.open(run).receipt().get("device", "cpu"))


def is_sharded(path: Path) -> bool:
    """Whether the run in ``path`` was begun with its weights shared out over ranks."""
    run, _ = named_checkpoint(path)
    return bool(RunDirectory.open(run).receipt().get("hardware", {}).get("sharded", False))


def place_of(run: RunDirectory, chosen: Sequence[str]) -> Place | None:
    """The first stage that is not finished, and its newest good step; None after the last."""
    for name in chosen:
        if run.stage_receipt(name) is None:
            found = newest_checkpoint(run.stage(name) / CHECKPOINTS, only=())
            return Place(name, 0 if found is None else found.step)
    return None


def change_run(
    context: StageContext,
    was: Mapping[str, Any],
    receipt: Mapping[str, Any],
    recipe: Mapping[str, Any],
    changed: Changed,
    place: Place,
) -> None:
    """Puts a declared change on record: from here on the run is one of ``recipe``.

    ``context`` is of the stage the run is in, under the recipe it had.
    """
    run = context.run
    if place.step and place.stage in changed.stages.get(DATA, ()):
        # Evaluations must be kept apart from what was trained on, wherever that is by then.
        folder = run.stage(place.stage)
        module = importlib.import_module(context.stage.runner.partition(":")[0])
        seen = module.training_hashes(context) | trained_before(folder)
        write_jsonl(folder / TRAINED, [{"sha256": each} for each in sorted(seen)])
        shutil.rmtree(folder / _MADE, ignore_errors=True)
    kept = {key: was[key] for key in _STAYS if key in was}
    kept["hardware"] = with_ranks_of(was["hardware"], receipt["hardware"])
    changes = [*was.get(CHANGES, ()), record(was, changed, place)]
    run.change({**receipt, **kept, CHANGES: changes}, recipe)
    for kind, lines in changed.kinds.items():
        context.echo(f"declared: {kind} changed after {place}: " + "; ".join(lines))
