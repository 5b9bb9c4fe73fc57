"""A look at the problems of a stage before it runs: do they exist, can they be written, fit?

A supervised stage is judged by the very documents it will read, and an evaluation by the very
problems it will ask, within reason. Reinforcement draws what its curriculum wants, so it is judged
by many problems of every arm; a longer one may still come up in the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import attrs

from limite.core.config_faults import Fault, Rest
from limite.core.errors import LimiteError, Mistake, did_you_mean
from limite.core.kinds import Verifier
from limite.core.model.settings import Model
from limite.core.recipe.problem_files import is_sound, source_faults
from limite.core.recipe.problem_source import ProblemSource, held_out_problems
from limite.core.recipe.recipe import Recipe, evaluation_seeds, stage_seeds
from limite.core.recipe.stages import RL, SFT, Eval, Mix, Source, Stage, Windows, is_file
from limite.core.registry import Registry
from limite.core.rollout.budget import completion_budget
from limite.core.seeds import Seeds
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.data.windows import WindowCounts, cut
from limite.core.train.documents import Document, make_documents, pick_style
from limite.core.types import Problem

DRAWN = 2_000
DOCUMENTS = 10_000
ASKED = 10_000


@attrs.frozen(kw_only=True)
class Texts:
    """Lengths of what was drawn, in tokens; empty when nothing could be.

    ``items`` is how many there are in all, where that is known, and ``response`` how long one may
    get, where the stage alone does not say it; ``notes`` are for the plan.
    """

    prompts: Sequence[int] = ()
    documents: Sequence[int] = ()
    items: int = 0
    response: int = 0
    notes: tuple[str, ...] = ()

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


def problem_faults(
    recipe: Recipe,
    name: str,
    stage: Stage,
    registry: Registry,
    texts: dict[str, Texts],
    files: list[Mistake],
    *,
    readable: bool = True,
    keep: list[Problem] | None = None,
) -> Iterator[Fault]:
    """Draws problems of a stage: what is wrong with them; their lengths go into ``texts``.

    Mistakes in files of problems go into ``files``. With a tokenizer that is not ``readable``
    problems are drawn and not encoded. ``keep`` gets those that were drawn.
    """
    texts[name] = Texts()
    mix = cast("Mix | None", getattr(stage, "problems", None))
    if mix is None:
        return
    wrong: set[str] = set()
    verifier = cast("Verifier | None", getattr(stage, "verifier", None))
    yield from source_faults(mix, registry, files, wrong, verifier)
    seeds = _seeds(recipe, name)
    if not is_sound(mix):
        yield from _faults_of_part(stage, mix, registry, seeds)
        yield from room_faults(recipe, stage)
        return
    if not set(mix.entries) - wrong:
        yield from room_faults(recipe, stage)
        return
    sources = {each: entry for each, entry in mix.sources.items() if each not in wrong}
    problems: list[Problem] = []
    try:
        problems += drawn(stage, attrs.evolve(mix, sources=sources), registry, seeds)
    except LimiteError as error:
        yield Fault(("problems",), str(error))
        yield from room_faults(recipe, stage)
        return
    if keep is not None:
        keep += problems
    texts_of_problems = [each.problem for each in problems]
    picked: list[str] = []
    if isinstance(stage, SFT):
        if isinstance(stage.styles, Rest):
            yield from _unknown_styles(problems, stage.styles)
            return
        unwritten = [*style_faults(problems, stage.styles)]
        yield from unwritten
        if not unwritten:
            picked = [pick_style(each, stage.styles, seeds) for each in problems]
            texts_of_problems += [
                each.solutions[style] for each, style in zip(problems, picked, strict=True)
            ]
    if not readable:
        return
    lacking = [*lacking_faults(recipe, name, texts_of_problems)]
    yield from lacking
    if lacking:
        return
    documents: list[Document] = []
    try:
        if isinstance(stage, SFT) and not unwritten:
            documents = make_documents(
                problems, stage.styles, recipe.tokenizer, seeds, picked=picked
            )
            prompts = [each.prompt_tokens for each in documents]
        else:
            prompts = [len(recipe.tokenizer.render_prompt(each)) for each in problems]
    except LimiteError as error:  # a chat template may refuse some of them
        yield Fault(("tokenizer",), str(error))
        return
    texts[name] = Texts(prompts=prompts, documents=[len(document.ids) for document in documents])
    yield from text_faults(recipe, stage, texts[name])


def lacking_faults(recipe: Recipe, name: str, texts: Sequence[str]) -> Iterator[Fault]:
    """What texts of a stage contain and the tokenizer cannot write."""
    lacking = recipe.tokenizer.lacking(texts)
    if lacking:
        message = f"lacks {', '.join(map(repr, lacking))}, which problems of {name!r} contain"
        characters = isinstance(recipe.tokenizer, CharacterTokenizer)
        yield Fault(("tokenizer", "alphabet") if characters else ("tokenizer",), message)


def asked_faults(
    recipe: Recipe,
    name: str,
    problems: Sequence[Problem],
    texts: dict[str, Texts],
    *,
    max_tokens: int,
) -> Iterator[Fault]:
    """Whether problems can be put, and answered within the context; lengths go into ``texts``."""
    lacking = [*lacking_faults(recipe, name, [each.problem for each in problems])]
    yield from lacking
    if lacking:
        return
    try:
        prompts = [len(recipe.tokenizer.render_prompt(each)) for each in problems]
    except LimiteError as error:  # a chat template may refuse some of them
        yield Fault(("tokenizer",), str(error))
        return
    texts[name] = Texts(prompts=prompts)
    yield from budget_faults(recipe, "fixed-response", max_tokens, texts[name])


def _seeds(recipe: Recipe, name: str) -> Seeds:
    """The streams of the stage, so that it is judged by what it will draw.

    Where a seed could not be read, which is told elsewhere, any other does.
    """
    try:
        named = evaluation_seeds if isinstance(recipe.stages[name], Eval) else stage_seeds
        return named(recipe, name)
    except AttributeError:
        return Seeds(0)


def drawn(stage: Stage, mix: Mix, registry: Registry, seeds: Seeds) -> list[Problem]:
    """What the stage will draw of ``mix`` from these streams, or enough of it.

    Where it could not be read how many that is, some of every arm.
    """
    held_out = isinstance(stage, Eval)
    count: int | None = getattr(stage, "count" if held_out else "documents", None)
    if held_out and count is not None:
        return held_out_problems(Eval(problems=mix, count=count), registry, seeds, most=ASKED)
    source = ProblemSource(mix, registry, seeds.child("problems"), held_out=held_out)
    if count is not None:
        return source.distinct(min(count, DOCUMENTS), of=count)
    return _some(source)


def _some(source: ProblemSource) -> list[Problem]:
    """Problems of every arm."""
    each = max(1, DRAWN // len(source.arms))
    problems: list[Problem] = []
    for arm in range(len(source.arms)):
        whole = source.of_file(arm)  # of a file all are known, within reason
        if whole:
            problems += whole[:DOCUMENTS]
        else:
            problems += [source.draw(arm, 0, place, 0) for place in range(each)]
    return problems


def _faults_of_part(stage: Stage, mix: Mix, registry: Registry, seeds: Seeds) -> Iterator[Fault]:
    """What can be said of a supervised stage whose mixture was read in part: which of its styles
    none of the problems is solved in, at any difficulty."""
    styles = getattr(stage, "styles", None)
    if not isinstance(stage, SFT) or not styles:
        return
    sources: dict[str, float | Source] = {}
    for each in mix.sources:
        with contextlib.suppress(LimiteError):  # what is wrong with it is told already
            found = Mix({each: 1.0})
            ProblemSource(found, registry, seeds, held_out=False)
            sources[each] = 1.0
    if sources:
        source = ProblemSource(Mix(sources), registry, seeds.child("problems"), held_out=False)
        yield from _unknown_styles(_some(source), styles)


def _unknown_styles(problems: Sequence[Problem], styles: Mapping[str, float]) -> Iterator[Fault]:
    """Of what is wrong with styles, that which does not depend on their weights."""
    yield from (fault for fault in style_faults(problems, styles) if len(fault.path) == 2)


def style_faults(problems: Sequence[Problem], styles: Mapping[str, float]) -> Iterator[Fault]:
    """A style that no problem is solved in, or problems that are solved in none of them."""
    unknown = [style for style in styles if not any(style in each.solutions for each in problems)]
    wanted = [style for style, weight in styles.items() if weight]
    unsolved = next((each for each in problems if not set(wanted) & {*each.solutions}), None)
    lacking = unsolved if unsolved is not None else next(iter(problems), None)
    if lacking is None:
        return
    arm = str(lacking.meta["arm"])
    generator = arm if is_file(arm) else lacking.source.get("generator", "the problems")
    for style in unknown:
        near = did_you_mean(style, lacking.solutions)
        there = "" if near else f"; there are {', '.join(lacking.solutions)}"
        message = f"no solutions in this style from {generator!r}{near}{there}"
        yield Fault(("styles", style), message)
    if unsolved is not None and not unknown:
        there = ", ".join(unsolved.solutions) or "none"
        message = f"{generator!r} has solutions in none of these; its own are {there}"
        yield Fault(("styles",), message)


def text_faults(recipe: Recipe, stage: Stage, texts: Texts) -> Iterator[Fault]:
    """Prompts with their responses, and documents, must fit the model's context."""
    try:
        context = cast(Model, recipe.model).context
    except LimiteError:  # a directory that cannot be read, which is told at the model
        return
    if isinstance(stage, SFT) and isinstance(stage.windows, Windows):
        yield from window_faults(stage.windows, stage.targets, texts, context)
    elif isinstance(stage, SFT) and texts.longest_document > context:
        yield Fault(
            ("problems",),
            f"a problem with its solution has {texts.longest_document} tokens, more than the "
            f"model's context of {context} (model.context)",
        )
    if isinstance(stage, RL):
        yield from budget_faults(recipe, stage.budget, stage.max_tokens, texts)
    elif isinstance(stage, Eval):
        yield from budget_faults(recipe, stage.term("budget"), stage.term("max_tokens"), texts)


def window_faults(windows: Windows, targets: str, texts: Texts, context: int) -> Iterator[Fault]:
    """A window must fit the model's context, and documents must be long enough to have one."""
    if windows.tokens > context:
        message = f"must be at most the model's context of {context} (model.context)"
        yield Fault(("windows", "tokens"), f"{message}, got {windows.tokens}")
    elif texts.documents and not WindowCounts.of(texts.documents, windows).rows:
        message = (
            f"no document is long enough for a window of {windows.tokens} targets: the longest has "
            f"{texts.longest_document} tokens; with short = 'include' they are rows of their own"
        )
        yield Fault(("windows", "tokens"), message)
    elif (
        texts.documents
        and targets == "response"
        and not any(
            window.stop > texts.prompts[window.document] for window in cut(texts.documents, windows)
        )
    ):
        message = f"windows of {windows.tokens} targets ({windows.policy}) hold questions alone"
        yield Fault(("windows", "tokens"), message)


def room_faults(recipe: Recipe, stage: Stage) -> Iterator[Fault]:
    """Where no problem could be drawn: whether the context has room for a response and any prompt
    at all."""
    if isinstance(stage, Eval):
        budget, most = stage.term("budget"), stage.term("max_tokens")
    elif isinstance(stage, RL):
        budget, most = getattr(stage, "budget", ""), getattr(stage, "max_tokens", 0)
    else:
        return
    if budget != "fixed-response":
        return
    try:
        context = cast(Model, recipe.model).context
    except LimiteError:  # a directory that cannot be read, which is told at the model
        return
    if most >= context:
        message = f"must leave room for a prompt in the context of {context} tokens (model.context)"
        yield Fault(("max_tokens",), f"{message}, got {most}")


def budget_faults(recipe: Recipe, budget: str, max_tokens: int, texts: Texts) -> Iterator[Fault]:
    """The longest prompt must leave room for a response."""
    try:
        context = cast(Model, recipe.model).context
    except LimiteError:
        return
    if not texts.prompts:
        return
    try:
        completion_budget(
            budget, prompt_tokens=texts.longest_prompt, max_tokens=max_tokens, context=context
        )
    except LimiteError as error:
        yield Fault(("max_tokens",), str(error))
