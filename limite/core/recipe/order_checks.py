"""Whether the earlier stages that a stage names are there, and of the right kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from limite.core.config_faults import Fault
from limite.core.recipe.naming import earlier_stages, misnamed, policies_before
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL, START, Eval, Preference, Stage
from limite.core.recipe.stages.evaluation import PLAIN

# What two evaluations must share for their problems to be compared one by one.
PAIRED = (
    "seed",
    "problems",
    "suite",
    "data",
    "count",
    "samples",
    "max_tokens",
    "temperature",
    "budget",
    "top_p",
    "profile",
    "shots",
    "system",
    "instruction",
    "stop",
    "thinking",
    "grading",
    "natural_end",
    "verifier",
)


def _said(stage: Eval, field: str) -> Any:
    """A setting of an evaluation as two are compared; a suite may have terms of its own."""
    if (
        getattr(stage, "suite", None) is not None
        and field in PLAIN
        and getattr(stage, field) is None
    ):
        return "what the suite says"
    return stage.term(field)


def order_faults(recipe: Recipe, name: str, stage: Stage) -> Iterator[Fault]:
    """Stages that are named must come earlier and be of the right kind."""
    if name == START:
        message = "a stage is not to be called that: as a 'reference' it means the weights that the"
        yield Fault((), f"{message} stage itself begins with")
    earlier = earlier_stages(recipe, name)
    trained = policies_before(recipe, name)

    def named(field: str, right: list[str], why: str) -> Iterator[Fault]:
        wanted: str | None = getattr(stage, field, None)  # it may have been refused
        told = None if wanted is None else misnamed(recipe, name, wanted, right, why)
        if told is not None:
            yield Fault((field,), told)

    if isinstance(stage, (RL, Preference)) and getattr(stage, "reference", START) != START:
        yield from named("reference", trained, "does not train")
    if isinstance(stage, Preference):
        sampled = [each for each, other in earlier.items() if isinstance(other, RL)]
        yield from named("rollouts", sampled, "does not record responses")
    yield from named("start", trained, "does not train")
    if isinstance(stage, Eval) and getattr(stage, "against", None) is not None:
        measured = [each for each, other in earlier.items() if isinstance(other, Eval)]
        yield from named("against", measured, "does not evaluate")
        other = earlier.get(str(stage.against))
        if isinstance(other, Eval):
            for field in PAIRED:
                if not (hasattr(stage, field) and hasattr(other, field)):
                    continue
                ours, theirs = _said(stage, field), _said(other, field)
                if ours != theirs:
                    shown = "" if attrs.has(type(ours)) else f": {theirs} there, {ours} here"
                    message = f"must equal that of {stage.against!r} to be compared with it{shown}"
                    yield Fault((field,), message)
