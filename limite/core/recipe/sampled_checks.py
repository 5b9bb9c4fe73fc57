"""Whether a strong and a weak model will be there, and have problems to be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import attrs

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, Mistake
from limite.core.kinds import Verifier
from limite.core.recipe.data_checks import directory_faults
from limite.core.recipe.naming import misnamed, policies_before
from limite.core.recipe.problem_checks import Texts, asked_faults
from limite.core.recipe.problem_files import source_faults
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.recipe import Recipe, stage_seeds
from limite.core.recipe.stages import StrongWeak
from limite.core.registry import Registry

DRAWN = 10_000


def sampled_faults(
    recipe: Recipe,
    name: str,
    settings: StrongWeak,
    registry: Registry,
    texts: dict[str, Texts],
    files: list[Mistake],
    *,
    readable: bool,
) -> Iterator[Fault]:
    """What is wrong with where pairs come from; mistakes in models' files and in those of
    problems go into ``files``."""
    longest = 0
    wrong: set[str] = set()
    verifier = cast(Verifier, settings.verifier)
    yield from source_faults(settings.problems, registry, files, wrong, verifier)
    if not wrong:
        try:
            seeds = stage_seeds(recipe, name).child("sampled", "problems")
            source = ProblemSource(settings.problems, registry, seeds, held_out=False)
            problems = source.distinct(min(settings.count, DRAWN), of=settings.count)
        except LimiteError as error:
            yield Fault(("problems",), str(error))
            problems = []
        if readable:
            yield from asked_faults(recipe, name, problems, texts, max_tokens=settings.max_tokens)
            prompts = texts[name].prompts
            rows = [prompt + settings.max_tokens for prompt in prompts]
            texts[name] = Texts(prompts=prompts, documents=rows)
            longest = max(rows, default=0)
    if settings.strong == settings.weak:
        yield Fault(("weak",), f"must be another model than 'strong', got {settings.weak!r} twice")
    for field, model in settings.models.items():
        if model.stage is not None:
            right = policies_before(recipe, name)
            why = misnamed(recipe, name, model.said, right, "does not train a policy", path=True)
            if why is not None:
                yield Fault((field,), why)
        else:
            for fault in directory_faults(
                recipe, str(model.path), settings.dtype, longest, (field,), files, readable=readable
            ):
                message = fault.message.replace("set 'max_tokens'", "lower 'max_tokens'")
                yield attrs.evolve(fault, message=message)
