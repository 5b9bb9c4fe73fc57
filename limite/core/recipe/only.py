"""Running some stages of a recipe: which they need, which of an earlier run stay as they were."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import storage_error
from limite.core.receipts import FINISHED, differences
from limite.core.recipe.declared import CHANGES
from limite.core.recipe.load import LoadedRecipe
from limite.core.recipe.naming import policies_before
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.rundir import RunDirectory
from limite.core.recipe.stages import RL, SFT, Distill, FitCritic, Preference, Soup


def chosen_stages(recipe: Recipe, only: Sequence[str]) -> list[str]:
    """The stages to run, in the recipe's order."""
    for name in only:
        if name not in recipe.stages:
            known = ", ".join(recipe.stages)
            raise LimiteError(
                f"--only: there is no stage {name!r}{did_you_mean(name, recipe.stages)}; "
                f"the stages are {known}"
            )
    return [name for name in recipe.stages if not only or name in only]


def needed_by(recipe: Recipe, name: str) -> list[str]:
    """The earlier stages that a stage takes something from."""
    stage = recipe.stages[name]
    needed = [stage.start] if stage.start is not None else policies_before(recipe, name)[-1:]
    if isinstance(stage, Soup):
        needed = [member.stage for member in stage.members if member.stage is not None]
    others = [getattr(stage, field, None) for field in ("against", "reference", "rollouts")]
    if isinstance(stage, FitCritic):
        others.append(stage.rollouts_among(recipe.stages, name))
    if isinstance(stage, RL) and stage.critic is not None:
        others.append(stage.critic.start)
    if isinstance(stage, Preference) and stage.sampled is not None:
        others += [model.stage for model in stage.sampled.models.values()]
    if isinstance(stage, SFT) and stage.own is not None:
        others += stage.own.rollouts
    if isinstance(stage, Distill) and stage.teaching is not None:
        others.append(stage.teaching.stage)
    named = [other for other in others if other in recipe.stages]
    return list(dict.fromkeys([*needed, *named]))


def depends_on(recipe: Recipe, name: str, chosen: Sequence[str]) -> str | None:
    """The first of the chosen stages that a stage goes back to, itself aside; None if to none."""
    for needed in needed_by(recipe, name):
        found = needed if needed in chosen else depends_on(recipe, needed, chosen)
        if found is not None:
            return found
    return None


def untouched(recipe: Recipe, chosen: Sequence[str]) -> list[str]:
    """The stages that stay as they were when the chosen ones run again."""
    return [
        name
        for name in recipe.stages
        if name not in chosen and depends_on(recipe, name, chosen) is None
    ]


def refuse_missing_starts(recipe: Recipe, chosen: Sequence[str]) -> None:
    """With ``--only`` on a recipe file, what the chosen stages need must be chosen too."""
    for name in chosen:
        for needed in needed_by(recipe, name):
            if needed not in chosen:
                raise LimiteError(
                    f"--only: stage {name!r} goes on from {needed!r}, which would not run; "
                    "name the folder of a run that has it instead of the recipe, "
                    f"or add --only {needed}"
                )


def refuse_other_settings(
    loaded: LoadedRecipe, earlier: RunDirectory, chosen: Sequence[str]
) -> None:
    """Stages taken over from an earlier run must be finished there and settled the same way."""
    was, now = earlier.recipe(), loaded.data
    kept = untouched(loaded.recipe, chosen)
    changed = []
    for part in ("seed", "model", "tokenizer"):
        changed += differences({part: was.get(part)}, {part: now.get(part)})
    for name in kept:
        changed += differences(
            {f"stages.{name}": was["stages"].get(name)}, {f"stages.{name}": now["stages"][name]}
        )
    if changed:
        raise LimiteError(
            f"--only takes the other stages over from {earlier.path}, where they ran with other "
            "settings (then -> now):\n  " + "\n  ".join(changed)
        )
    for name in chosen:
        for needed in needed_by(loaded.recipe, name):
            if needed in chosen:
                continue
            if needed not in kept:
                raise LimiteError(
                    f"--only: stage {name!r} goes on from {needed!r}, which goes back to "
                    f"{depends_on(loaded.recipe, needed, chosen)!r} and would not run again; "
                    f"add --only {needed}"
                )
            if earlier.stage_receipt(needed) is None:
                raise LimiteError(
                    f"--only: stage {name!r} goes on from {needed!r}, which {earlier.path} has "
                    f"not finished; finish it first: limite resume {earlier.path}"
                )


def take_over(earlier: RunDirectory, run: RunDirectory, stages: Sequence[str]) -> None:
    """Copies the finished stages of an earlier run, so that the new folder stands alone.

    Each appears whole or not at all.
    """
    for name in stages:
        if earlier.stage_receipt(name) is None:
            continue
        place = run.stage(name)
        aside = place.with_name(f".{place.name}.copying")
        try:
            shutil.copytree(earlier.stage(name), aside)
            aside.rename(place)
        except OSError as error:
            shutil.rmtree(aside, ignore_errors=True)
            raise storage_error(error, place, "choose another disk with --out") from error
        run.bind_stage(name, **_changes_of(earlier, name))


def _changes_of(earlier: RunDirectory, name: str) -> dict[str, Any]:
    """What was declared while a stage ran, and so which settings its first steps had."""
    receipt = earlier.receipt()
    before = receipt.get(FINISHED, {}).get(name, {}).get(CHANGES, [])
    found = [*before, *(each for each in receipt.get(CHANGES, ()) if each["stage"] == name)]
    return {CHANGES: found} if found else {}
