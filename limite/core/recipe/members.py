"""The models of a soup: where each lies, and whether all of them can be averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from limite.core.checkpoint.manifest import MANIFEST
from limite.core.errors import LimiteError
from limite.core.pretrained.directory import CONFIG_FILE
from limite.core.pretrained.export import Source, directory_source
from limite.core.receipts import step_handed_on
from limite.core.recipe.export import planned_source, run_source, with_weights
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.rundir import RunDirectory
from limite.core.recipe.stages import Member
from limite.core.recipe.trained import Trained, is_run, trained, trained_at


def source_at(path: Path) -> Source:
    """The model at a path: a model's directory, a run's last trained weights, or a checkpoint."""
    if not path.exists():
        raise LimiteError("there is no such folder")
    if is_run(path):
        return run_source(trained(path))
    if (path / MANIFEST).is_file():
        return run_source(trained_at(path))
    if (path / CONFIG_FILE).is_file():
        return directory_source(path)
    raise LimiteError("is no model's directory, no run and no checkpoint of one")


def planned(recipe: Recipe, members: Sequence[Member]) -> Source:
    """What the run's own stages leave, described as far as the other models are."""
    return planned_source(recipe, files=any(member.stage is None for member in members))


def sources_of(
    run: RunDirectory, recipe: Recipe, members: Sequence[Member]
) -> list[tuple[str, Source]]:
    """The models by name, in order. The stages that they are of must be finished in ``run``."""
    own = planned(recipe, members)
    found = []
    for member in members:
        if member.stage is None:
            try:
                source = source_at(member.path)
            except LimiteError as error:
                raise LimiteError(f"{member.said}: {error}") from error
        else:
            source = with_weights(own, weights_of(run, recipe, member))
        found.append((member.said, source))
    return found


def weights_of(run: RunDirectory, recipe: Recipe, member: Member) -> Trained:
    """The checkpoint of a stage that a soup is made of."""
    assert member.stage is not None
    receipt = run.stage_receipt(member.stage)
    if receipt is None:
        raise LimiteError(f"stage {member.stage!r} is not finished in {run.path}")
    last = step_handed_on(receipt)
    step = last if member.step is None else int(member.step)
    if step > int(receipt["steps"]):
        raise LimiteError(
            f"{member.said}: stage {member.stage!r} ended after step {receipt['steps']}, before "
            f"its checkpoint of step {step}; take a step that it came to, or {member.stage!r} for "
            "what it handed on"
        )
    return Trained(run=run, recipe=recipe, stage=member.stage, step=step, finished=step == last)


def origins(
    run: RunDirectory, recipe: Recipe, members: Sequence[Member]
) -> list[Mapping[str, object]]:
    """Which checkpoints and folders the models are, for a receipt."""
    return [
        {"path": str(member.path)}
        if member.stage is None
        else {"stage": member.stage, "step": weights_of(run, recipe, member).step}
        for member in members
    ]
