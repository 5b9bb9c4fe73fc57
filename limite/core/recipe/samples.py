"""A look at the problems of a stage before it runs: do they exist, can they be written, fit?

A few hundred problems are drawn, so a text longer than all of these may still come up in the run,
which then says so itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import attrs

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, did_you_mean
from limite.core.model.spec import ModelSpec
from limite.core.problem_source import ProblemSource
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL, SFT, Eval, Mix, Stage
from limite.core.registry import Registry
from limite.core.rollout.budget import completion_budget
from limite.core.seeds import Seeds
from limite.core.types import Problem

LOOKED_AT = 400


@attrs.frozen(kw_only=True)
class Texts:
    """Lengths of what was drawn, in tokens; empty when nothing could be."""

    prompts: Sequence[int] = ()
    documents: Sequence[int] = ()

    @property
    def longest_prompt(self) -> int:
        return max(self.prompts, default=0)

    @property
    def longest_document(self) -> int:
        return max(self.documents, default=0)

    @property
    def mean_prompt(self) -> float:
        return sum(self.prompts) / max(len(self.prompts), 1)

    @property
    def mean_document(self) -> float:
        return sum(self.documents) / max(len(self.documents), 1)


def mix_of(stage: Stage) -> Mix:
    """The problems of a stage."""
    return cast(SFT | RL | Eval, stage).problems


def texts_of(
    recipe: Recipe, name: str, stage: Stage, registry: Registry
) -> tuple[list[Fault], Texts]:
    """Draws problems of a stage; what is wrong with its mixture, and how long the texts are."""
    mix = mix_of(stage)
    faults = [*_generator_faults(mix, registry)]
    unknown = {fault.path[-1] for fault in faults}
    sources = {each: weight for each, weight in mix.sources.items() if each not in unknown}
    if not any(sources.values()):
        return faults, Texts()
    mix = attrs.evolve(mix, sources=sources)
    source = ProblemSource(
        mix, registry, Seeds(recipe.seed).child("check", name), isinstance(stage, Eval)
    )
    try:
        if isinstance(stage, RL):  # a stage that repeats itself needs no great number of problems
            each = max(1, LOOKED_AT // len(source.arms))
            arms = range(len(source.arms))
            problems = [source.draw(arm, place) for arm in arms for place in range(each)]
        else:
            wanted = stage.documents if isinstance(stage, SFT) else cast(Eval, stage).count
            problems = source.distinct(min(wanted, LOOKED_AT))
    except LimiteError as error:
        return [*faults, Fault(("problems",), str(error))], Texts()
    styles = dict(stage.styles) if isinstance(stage, SFT) else {}
    unwritten = [*_style_faults(problems, styles)]
    faults += unwritten
    known = set(recipe.tokenizer.alphabet)
    lacking = sorted({character for p in problems for character in _written(p, styles)} - known)
    if lacking:
        message = f"lacks {', '.join(map(repr, lacking))}, which problems of {name!r} contain"
        return [*faults, Fault(("tokenizer", "alphabet"), message)], Texts()
    return faults, _lengths(recipe, problems, [] if unwritten else list(styles))


def _lengths(recipe: Recipe, problems: Sequence[Problem], styles: Sequence[str]) -> Texts:
    prompts = [len(recipe.tokenizer.render_prompt(problem)) for problem in problems]
    documents = [
        prompt + len(recipe.tokenizer.encode(problem.solutions[style])) + 1  # the end token
        for prompt, problem in zip(prompts, problems, strict=True)
        for style in styles
    ]
    return Texts(prompts=prompts, documents=documents)


def _generator_faults(mix: Mix, registry: Registry) -> Iterator[Fault]:
    for name in mix.sources:
        try:
            registry.get("generator", name).load()
        except LimiteError as error:
            yield Fault(("problems", "sources", name), str(error))


def _style_faults(problems: Sequence[Problem], styles: dict[str, float]) -> Iterator[Fault]:
    for style in styles:
        lacking = next((each for each in problems if style not in each.solutions), None)
        if lacking is not None:
            generator = lacking.source.get("generator", "the problems")
            near = did_you_mean(style, lacking.solutions)
            there = "" if near else f"; there are {', '.join(lacking.solutions)}"
            message = f"no solutions in this style from {generator!r}{near}{there}"
            yield Fault(("styles", style), message)


def _written(problem: Problem, styles: dict[str, float]) -> str:
    solutions = [problem.solutions.get(style, "") for style in styles]
    return "".join([problem.problem, *solutions])


def text_faults(recipe: Recipe, stage: Stage, texts: Texts) -> Iterator[Fault]:
    """Prompts with their responses, and documents, must fit the model's context."""
    context = cast(ModelSpec, recipe.model).context
    if isinstance(stage, SFT) and texts.longest_document > context:
        yield Fault(
            ("problems",),
            f"a problem with its solution has {texts.longest_document} tokens, more than the "
            f"model's context of {context} (model.context)",
        )
    if isinstance(stage, (RL, Eval)) and texts.prompts:
        try:
            completion_budget(
                stage.budget if isinstance(stage, RL) else "fixed-response",
                prompt_tokens=texts.longest_prompt,
                max_tokens=stage.max_tokens,
                context=context,
            )
        except LimiteError as error:
            yield Fault(("max_tokens",), str(error))
