"""What can be known of a recipe before a weight is loaded: every mistake at once, and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from limite.core.errors import Mistake, SettingsError
from limite.core.recipe.cost import Plan
from limite.core.recipe.load import Draft, LoadedRecipe, draft_recipe, finished, in_order
from limite.core.recipe.look import Findings, look_over
from limite.core.recipe.memory_parts import Machine, MemoryPlan
from limite.core.recipe.memory_plan import memory_plan
from limite.core.registry import Registry


def check_file(
    path: str | Path, overrides: Sequence[str], registry: Registry
) -> tuple[LoadedRecipe, Plan]:
    """Reads and checks a recipe; a SettingsError lists every mistake of both kinds at once."""
    return check_draft(draft_recipe(path, overrides, registry), registry)


def check_draft(draft: Draft, registry: Registry) -> tuple[LoadedRecipe, Plan]:
    """The same of a recipe that was read as far as it could be."""
    loaded, found = _sound(draft, registry)
    return loaded, found.plan(loaded.recipe, registry)


def _sound(draft: Draft, registry: Registry) -> tuple[LoadedRecipe, Findings]:
    found = look_over(draft.recipe, registry, complete=not draft.mistakes)
    refuse(draft, found.in_recipe(draft.locate), found.files)
    return finished(draft, registry), found


def refuse(draft: Draft, mistakes: Sequence[Mistake], files: Sequence[Mistake]) -> None:
    """Raises what is wrong in a recipe, in order and each once, and then in files it names."""
    in_recipe = in_order(list(dict.fromkeys([*draft.mistakes, *mistakes])))
    if in_recipe or files:
        raise SettingsError([*in_recipe, *dict.fromkeys(files)])


def memory_of_file(
    path: str | Path, overrides: Sequence[str], registry: Registry, machine: Machine
) -> MemoryPlan:
    """What a recipe takes of the GPUs of a machine; a SettingsError lists every mistake in it."""
    return plans_of_file(path, overrides, registry, machine)[0]


def plans_of_file(
    path: str | Path, overrides: Sequence[str], registry: Registry, machine: Machine
) -> tuple[MemoryPlan, Plan]:
    """What a recipe takes of the GPUs of a machine, and its cost.

    A SettingsError lists every mistake in it.
    """
    loaded, found = _sound(draft_recipe(path, overrides, registry), registry)
    assert found.decoder is not None
    memory = memory_plan(loaded.recipe, found.decoder, found.texts, machine)
    return memory, found.plan(loaded.recipe, registry)


def check_recipe(loaded: LoadedRecipe, registry: Registry) -> Plan:
    """What the recipe will do and cost. A SettingsError lists all that would stop it."""
    found = look_over(loaded.recipe, registry)
    mistakes = [*found.in_recipe(loaded.locate), *found.files]
    if mistakes:
        raise SettingsError(mistakes)
    return found.plan(loaded.recipe, registry)
