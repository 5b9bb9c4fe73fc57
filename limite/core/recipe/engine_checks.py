"""Whether an engine's settings can work, as far as that can be told without asking a server."""

from __future__ import annotations

from collections.abc import Iterator

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL


def engine_faults(recipe: Recipe, stage: RL) -> Iterator[Fault]:
    """What the engine says of its settings; one that needs the policy as files must get them."""
    look = getattr(stage.engine, "faults", None)
    if look is not None:
        for setting, message in look():
            yield Fault(("engine", setting), message)
    if getattr(type(stage.engine), "takes_files", False):
        from limite.core.recipe.export import planned_source

        try:
            planned_source(recipe)
        except LimiteError as error:
            yield Fault(("engine",), f"takes the policy as files, and there are none: {error}")
