"""Whether the rule that ends an unstable stage can do so, and its probe be asked."""

from __future__ import annotations

from collections.abc import Iterator

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, Mistake
from limite.core.recipe.problem_checks import Texts, asked_faults
from limite.core.recipe.problem_files import source_faults
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL
from limite.core.recipe.tasting import drawn_problems
from limite.core.registry import Registry


def stability_faults(
    recipe: Recipe,
    name: str,
    stage: RL,
    registry: Registry,
    files: list[Mistake],
    *,
    readable: bool,
) -> Iterator[Fault]:
    """What is wrong with ``stop_when``; mistakes in files of problems go into ``files``."""
    rule = stage.stop_when
    if rule is None:
        return
    if stage.health.action == "stop":
        message = (
            "'stop' fails the run at the first gate that fails, so that 'stop_when' would not "
            "come to it; take 'warn' or 'skip', or leave 'stop_when' out"
        )
        yield Fault(("health", "action"), message)
    probe = rule.probe
    if probe is None:
        return
    path = ("stop_when", "probe")
    wrong: set[str] = set()
    for fault in source_faults(probe.problems, registry, files, wrong):
        yield fault.under(*path)
    if wrong:
        return
    try:
        problems = drawn_problems(recipe, name, probe, registry)
    except LimiteError as error:
        yield Fault((*path, "problems"), str(error))
        return
    if readable and stage.budget == "fixed-response":
        own: dict[str, Texts] = {}
        yield from asked_faults(recipe, name, problems, own, max_tokens=stage.max_tokens)
