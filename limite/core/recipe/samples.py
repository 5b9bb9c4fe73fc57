"""A look at the problems of a stage before it runs: do they exist, can they be written, fit?

As many problems are drawn as a stage wants distinct ones, within reason. They are not those of the
run, where a text longer than all of these may still come up; the run then says so itself.
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

DRAWN = 400
DISTINCT = 10_000


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


def problem_faults(
    recipe: Recipe, name: str, stage: Stage, registry: Registry, texts: dict[str, Texts]
) -> Iterator[Fault]:
    """Draws problems of a stage: what is wrong with them; their lengths go into ``texts``."""
    texts[name] = Texts()
    mix = mix_of(stage)
    unknown = set()
    for fault in _generator_faults(mix, registry):
        unknown.add(fault.path[-1])
        yield fault
    sources = {each: weight for each, weight in mix.sources.items() if each not in unknown}
    if not any(sources.values()):
        return
    problems: list[Problem] = []
    try:
        problems += drawn(attrs.evolve(mix, sources=sources), stage, registry)
    except LimiteError as error:
        yield Fault(("problems",), str(error))
        return
    styles = list(stage.styles) if isinstance(stage, SFT) else []
    unwritten = [*_style_faults(problems, styles)]
    yield from unwritten
    known = set(recipe.tokenizer.alphabet)
    lacking = sorted(
        {character for each in problems for character in _written(each, styles)} - known
    )
    if lacking:
        message = f"lacks {', '.join(map(repr, lacking))}, which problems of {name!r} contain"
        yield Fault(("tokenizer", "alphabet"), message)
        return
    texts[name] = _lengths(recipe, problems, [] if unwritten else styles)
    yield from text_faults(recipe, stage, texts[name])


def drawn(mix: Mix, stage: Stage, registry: Registry) -> list[Problem]:
    """Problems of a mixture, from the side of the split that the stage draws from."""
    source = ProblemSource(mix, registry, Seeds(0).child("check"), isinstance(stage, Eval))
    if isinstance(stage, RL):  # which may draw a problem again, and needs no number of them
        each = max(1, DRAWN // len(source.arms))
        arms = range(len(source.arms))
        return [source.draw(arm, place) for arm in arms for place in range(each)]
    wanted = stage.documents if isinstance(stage, SFT) else cast(Eval, stage).count
    return source.distinct(min(wanted, DISTINCT))


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


def _style_faults(problems: Sequence[Problem], styles: Sequence[str]) -> Iterator[Fault]:
    for style in styles:
        lacking = next((each for each in problems if style not in each.solutions), None)
        if lacking is not None:
            generator = lacking.source.get("generator", "the problems")
            near = did_you_mean(style, lacking.solutions)
            there = "" if near else f"; there are {', '.join(lacking.solutions)}"
            message = f"no solutions in this style from {generator!r}{near}{there}"
            yield Fault(("styles", style), message)


def _written(problem: Problem, styles: Sequence[str]) -> str:
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
