"""Whether critics fit the stages that use them, and have something to be fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from limite.core.config_faults import Fault
from limite.core.recipe.naming import earlier_stages, misnamed
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import (
    ENDING,
    OLD_VALUE,
    RL,
    VALUES,
    CriticSettings,
    FitCritic,
    files_at,
)
from limite.core.registry import Registry


def critic_faults(recipe: Recipe, name: str, stage: RL, registry: Registry) -> Iterator[Fault]:
    """An advantage that reads values needs a critic, and a critic somebody who reads it."""
    critic = getattr(stage, "critic", None)
    if critic is not None:
        yield from _start_faults(recipe, name, critic)
    reads = bool(getattr(stage.advantage, "needs_values", False))
    if reads and getattr(stage.objective, "per_row", False):
        message = (
            f"{registry.name_of(type(stage.advantage))!r} gives every token credit of its own, and "
            f"{registry.name_of(type(stage.objective))!r} takes one for all tokens of a response"
        )
        yield Fault(("advantage",), message)
    if stage.critic is None:
        if reads:
            title = registry.name_of(type(stage.advantage))
            giving = _giving(recipe, name)
            near = f" ({', '.join(map(repr, giving))})" if giving else ""
            message = (
                f"must be given for the advantage {title!r}, which reads a critic's values: "
                f"'start' names an earlier fit-critic stage{near}"
            )
            yield Fault(("critic",), message)
        return
    if stage.advantage is not None and not reads:
        title = registry.name_of(type(stage.advantage))
        yield Fault(("critic",), f"has no use: the advantage {title!r} reads no values")
    supplied = VALUES if stage.critic.mode == "frozen" else VALUES | {OLD_VALUE}
    for fault in fitting_faults(stage.critic, registry, supplied):
        yield fault.under("critic")
    objective = stage.critic.objective
    fitted = recipe.stages.get(getattr(stage.critic, "start", ""))
    if isinstance(fitted, FitCritic) and said_by(fitted.objective) != said_by(objective):
        message = (
            f"reads what the critic says as {said_by(objective)}, and {stage.critic.start!r} "
            f"fits it to say {said_by(fitted.objective)}; give both the same kind of objective"
        )
        yield Fault(("critic", "objective"), message)


def said_by(objective: Any) -> str:
    """What a critic fitted by an objective says, in words."""
    return str(getattr(objective, "output_is", "a value"))


def fitting_faults(
    settings: CriticSettings | FitCritic, registry: Registry, supplied: frozenset[str]
) -> Iterator[Fault]:
    """A critic is fitted by an objective of values."""
    objective = settings.objective
    needs = getattr(objective, "needs", None)
    title = registry.name_of(type(objective))
    if needs is None or "value" not in needs:
        message = f"{title!r} fits no critic: it does not read 'value'; try 'value-regression'"
        yield Fault(("objective",), message)
        return
    lacking = frozenset(needs) - supplied
    if lacking:
        some, have = ", ".join(sorted(lacking)), ", ".join(sorted(supplied))
        message = f"{title!r} reads {some}, which there is none of here; there is {have}"
        yield Fault(("objective",), message)


def rollout_faults(recipe: Recipe, name: str, stage: FitCritic) -> Iterator[Fault]:
    """Where the rollouts come from must be there, or come earlier."""
    if stage.rollout_files:
        if stage.rollouts is not None:
            yield Fault(("rollouts",), "must be left out where 'rollout_files' are given")
        for number, given in enumerate(stage.rollout_files):
            if not files_at(Path(given)):
                message = f"no rollout file ({ENDING}) is at {given}"
                yield Fault(("rollout_files", number), message)
        return
    stages = recipe.stages
    found = stage.rollouts_among(stages, name)
    if found is None:
        message = (
            "there is no earlier rl stage whose rollouts it could be fitted to; put one before it, "
            "or name rollout files with 'rollout_files'"
        )
        yield Fault(("rollouts",), message)
        return
    recording = [each for each in earlier_stages(recipe, name) if stages[each].records_rollouts]
    why = misnamed(recipe, name, found, recording, "records no rollouts")
    if why is not None:
        yield Fault(("rollouts",), why)


def _start_faults(recipe: Recipe, name: str, critic: CriticSettings) -> Iterator[Fault]:
    wanted = getattr(critic, "start", None)
    if wanted is None:
        return
    why = misnamed(recipe, name, wanted, _giving(recipe, name), "leaves no critic")
    if why is not None:
        yield Fault(("critic", "start"), why)


def _giving(recipe: Recipe, name: str) -> list[str]:
    return [each for each, stage in earlier_stages(recipe, name).items() if stage.gives_critic]
