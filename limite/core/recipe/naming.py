"""What is wrong with the name of an earlier stage."""

from __future__ import annotations

from collections.abc import Sequence

from limite.core.config_faults import Rest
from limite.core.errors import did_you_mean
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import Stage


def earlier_stages(recipe: Recipe, name: str) -> dict[str, Stage]:
    """Those before a stage, in order."""
    names = list(recipe.stages)
    return {each: recipe.stages[each] for each in names[: names.index(name)]}


def policies_before(recipe: Recipe, name: str) -> list[str]:
    """Those of them whose weights are a policy's."""
    return [each for each, stage in earlier_stages(recipe, name).items() if stage.trains]


def misnamed(
    recipe: Recipe, name: str, wanted: str, right: Sequence[str], why: str, *, path: bool = False
) -> str | None:
    """Why ``wanted`` is none of the ``right`` stages before ``name``; None where it is one.

    ``why`` is said of an earlier stage that is of another kind. Where the ``path`` of a model would
    do as well, that is said of what is no stage at all.
    """
    unread = recipe.stages.unread if isinstance(recipe.stages, Rest) else ()
    if wanted in right or wanted in unread:  # what is wrong with the other is told there
        return None
    near = did_you_mean(wanted, [*right, *unread])
    if wanted in earlier_stages(recipe, name):
        return f"the stage {wanted!r} {why}{near}"
    if wanted in recipe.stages:
        return f"the stage {wanted!r} does not come before this one; stages run in order{near}"
    if path and not near:
        near = f"; the path of a model has a slash, like './{wanted}'"
    if not near:
        listed = ", ".join(map(repr, right))
        near = f"; one of {listed}" if right else "; no stage before this one would do"
    return f"unknown stage {wanted!r}{near}"
