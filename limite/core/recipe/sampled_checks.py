"""Whether a strong and a weak model will be there, and have problems to be asked."""

from __future__ import annotations

from collections.abc import Iterator

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, Mistake, did_you_mean
from limite.core.recipe.data_checks import directory_faults
from limite.core.recipe.problem_checks import Texts, asked_faults, generator_faults
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.recipe import Recipe, stage_seeds
from limite.core.recipe.stages import Member, StrongWeak
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
    """What is wrong with where pairs come from; mistakes in models' files go into ``files``."""
    longest = 0
    unknown = [*generator_faults(settings.problems, registry)]
    yield from unknown
    if not unknown:
        try:
            seeds = stage_seeds(recipe, name).child("sampled", "problems")
            source = ProblemSource(settings.problems, registry, seeds, held_out=False)
            problems = source.distinct(min(settings.count, DRAWN))
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
            yield from _stage_faults(recipe, name, field, model)
        else:
            for message in directory_faults(
                recipe, str(model.path), settings.dtype, longest, files, readable=readable
            ):
                yield Fault((field,), message.replace("set 'max_tokens'", "lower 'max_tokens'"))


def _stage_faults(recipe: Recipe, name: str, field: str, model: Member) -> Iterator[Fault]:
    names = list(recipe.stages)
    earlier = names[: names.index(name)]
    trained = [each for each in earlier if recipe.stages[each].trains]
    wanted = model.said
    if wanted in trained:
        return
    if wanted in earlier:
        message = f"the stage {wanted!r} does not train a policy"
    elif wanted in names:
        message = f"the stage {wanted!r} does not come before this one; stages run in order"
    else:
        message = f"unknown stage {wanted!r}"
        if not did_you_mean(wanted, trained):
            message += f"; the path of a model has a slash, like './{wanted}'"
    yield Fault((field,), message + did_you_mean(wanted, trained))
