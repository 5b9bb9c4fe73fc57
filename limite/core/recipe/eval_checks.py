"""A look at an evaluation before it runs: what it asks, how that is put, and whether it fits."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, cast

import attrs

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, Mistake, SettingsError, sentence
from limite.core.model.settings import Model
from limite.core.recipe.file_faults import placed
from limite.core.recipe.load import whole
from limite.core.recipe.problem_checks import Texts, lacking_faults, problem_faults
from limite.core.recipe.problem_source import STAGE_ASKED
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import Eval
from limite.core.registry import Registry
from limite.core.rollout.budget import completion_budget
from limite.core.types import Problem


def eval_faults(
    recipe: Recipe,
    name: str,
    stage: Eval,
    registry: Registry,
    texts: dict[str, Texts],
    files: list[Mistake],
    *,
    readable: bool = True,
) -> Iterator[Fault]:
    """What is wrong with what an evaluation asks; lengths of its prompts go into ``texts``.

    Mistakes in files of problems go into ``files``. With a tokenizer that is not ``readable``
    problems are read and not encoded.
    """
    asked = importlib.import_module(STAGE_ASKED)
    wrong = []
    part = not whole(stage)
    if readable and not part:
        wrong = [Fault((field,), said) for field, said in asked.faults_of(stage, recipe.tokenizer)]
        yield from wrong
    suite = getattr(stage, "suite", None)
    if suite is None and getattr(stage, "problems", None) is None:
        texts[name] = Texts()
        return
    if suite is None:
        drawn: list[Problem] = []
        found = problem_faults(
            recipe, name, stage, registry, texts, files, readable=readable, keep=drawn
        )
        plain = [*found]
        if part and not all(hasattr(stage, field) for field in asked.PUT):
            # How they are put, and so how long they are, could not be read.
            yield from (fault for fault in plain if fault.path[0] == "problems")
            return
        if not drawn or wrong or not readable or not _is_put(asked, stage):
            yield from plain
            return
        texts[name] = Texts()
        yield from (fault for fault in plain if fault.path[0] == "problems")
        yield from _of_set(asked, recipe, name, stage, drawn, None, texts)
        return
    texts[name] = Texts()
    if wrong:
        return
    try:
        sets = asked.sets_of(stage, registry)
    except SettingsError as error:
        yield from placed(error.mistakes, ("suite",), files)
        return
    except LimiteError as error:
        yield from _told(error, "suite")
        return
    if readable:
        for found in sets.values():
            yield from _of_set(asked, recipe, name, stage, found.problems, found, texts)


def _is_put(asked: Any, stage: Eval) -> bool:
    return any(stage.is_given(field) for field in asked.PUT)


def _of_set(
    asked: Any,
    recipe: Recipe,
    name: str,
    stage: Eval,
    problems: Sequence[Problem],
    source: Any,
    texts: dict[str, Texts],
) -> Iterator[Fault]:
    """Whether problems can be put as the stage says, and answered within the context."""
    try:
        shown = asked.shown(
            stage, recipe.tokenizer, problems, None if source is None else source.questions
        )
        terms = asked.Terms.of(stage, None if source is None else source.samples)
        lacking = [*lacking_faults(recipe, name, [*map(shown.text, problems)])]
        yield from lacking
        if lacking:
            return
        shown.check(problems[0])
        prompts = [len(shown.render_prompt(each)) for each in problems]
    except SettingsError as error:
        yield from (Fault(("shots",), str(each)) for each in error.mistakes)
        return
    except LimiteError as error:
        yield from _told(error, "profile")
        return
    before = texts[name]
    texts[name] = Texts(
        prompts=[*before.prompts, *prompts],
        items=before.items + len(prompts) * terms.samples,
        response=max(before.response, terms.max_tokens or 0),
    )
    try:
        context = cast(Model, recipe.model).context
    except LimiteError:  # a directory that cannot be read, which is told at the model
        return
    if terms.max_tokens is None:
        texts[name] = attrs.evolve(texts[name], response=context)
    longest = max(prompts)
    try:
        completion_budget(
            terms.budget,
            prompt_tokens=longest,
            max_tokens=terms.max_tokens or context,
            context=context,
        )
    except LimiteError as error:
        first = problems[prompts.index(longest)]
        where = "" if source is None else f"{source.name}: "
        yield Fault(("max_tokens",), f"{where}problem {first.id}: {error}")


def _told(error: LimiteError, otherwise: str) -> Iterator[Fault]:
    """The settings that an error is about, as far as it says so."""
    wrong: Sequence[tuple[str, str]] = getattr(error, "wrong", [(otherwise, sentence(error))])
    yield from (Fault((field,), message) for field, message in wrong)
