"""Whether texts that a run makes for itself can be made: of problems, a teacher, own rollouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, Mistake
from limite.core.kinds import Verifier
from limite.core.recipe.naming import earlier_stages, misnamed
from limite.core.recipe.problem_checks import (
    DOCUMENTS,
    Texts,
    asked_faults,
    lacking_faults,
    style_faults,
)
from limite.core.recipe.problem_files import source_faults
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.recipe import Recipe, stage_seeds
from limite.core.recipe.runners.pretrain_data import problems_to_write, written
from limite.core.recipe.stages import RL, SFT, Distill, MadeTexts, Taught
from limite.core.registry import Registry


def made_faults(
    recipe: Recipe,
    name: str,
    made: MadeTexts,
    registry: Registry,
    texts: list[str],
    files: list[Mistake],
) -> Iterator[Fault]:
    """What is wrong with problems to pretrain on; the first texts go into ``texts``, and mistakes
    in files of problems into ``files``."""
    wrong: set[str] = set()
    yield from source_faults(made.problems, registry, files, wrong)
    if wrong:
        return
    seeds = stage_seeds(recipe, name)
    try:
        problems = problems_to_write(made, registry, seeds, DOCUMENTS)
    except LimiteError as error:
        yield Fault(("problems",), str(error))
        return
    unwritten = [*style_faults(problems, made.styles)]
    yield from unwritten
    if not unwritten:
        said = [written(each, made, seeds) for each in problems]
        lacking = [*lacking_faults(recipe, name, said)]
        yield from lacking
        texts += [] if lacking else said


def taught_faults(
    recipe: Recipe,
    name: str,
    stage: Distill,
    taught: Taught,
    registry: Registry,
    texts: dict[str, Texts],
    files: list[Mistake],
    *,
    readable: bool,
) -> Iterator[Fault]:
    """What is wrong with problems that a teacher is asked; lengths go into ``texts``, and mistakes
    in files of problems into ``files``."""
    wrong: set[str] = set()
    verifier = cast(Verifier, taught.verifier)
    yield from source_faults(taught.problems, registry, files, wrong, verifier)
    if wrong:
        return
    seeds = stage_seeds(recipe, name).child("sampled", "problems")
    try:
        source = ProblemSource(taught.problems, registry, seeds, held_out=False)
        problems = source.distinct(min(taught.count, DOCUMENTS), of=taught.count)
    except LimiteError as error:
        yield Fault(("problems",), str(error))
        return
    if readable:
        longest = stage.response_tokens if stage.on_policy else taught.max_tokens
        yield from asked_faults(recipe, name, problems, texts, max_tokens=longest)
        prompts = texts[name].prompts
        rows = [prompt + longest for prompt in prompts]
        texts[name] = Texts(prompts=prompts, documents=rows, items=taught.count)


def own_faults(recipe: Recipe, name: str, stage: SFT, texts: dict[str, Texts]) -> Iterator[Fault]:
    """Whether a supervised stage has anything to learn, and its own solutions will be there.

    Where it learns nothing else ``texts`` gets the longest that these may be.
    """
    own = stage.own
    if own is None:
        if stage.problems is None:
            message = "is missing: a supervised stage learns from 'problems', from 'own' responses"
            yield Fault(("problems",), f"{message}, or from both")
        return
    earlier = earlier_stages(recipe, name)
    sampled = [each for each, other in earlier.items() if isinstance(other, RL)]
    for number, wanted in enumerate(own.rollouts):
        why = misnamed(recipe, name, wanted, sampled, "does not record responses")
        if why is not None:
            yield Fault(("own", "rollouts", number), why)
    if stage.problems is None:
        sources = [recipe.stages[each] for each in own.rollouts if each in sampled]
        longest = max((each.max_tokens for each in sources if isinstance(each, RL)), default=0)
        known = [texts[each] for each in own.rollouts if each in texts]
        prompts = [length for each in known for length in each.prompts]
        rows = [length + longest for length in prompts]
        texts[name] = Texts(prompts=prompts, documents=rows)
