"""Whether the models of a soup will be there, can be averaged, and are weighted rightly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, Mistake, mistakes_of
from limite.core.kinds import Verifier
from limite.core.pretrained.average import checked_weights
from limite.core.pretrained.export import Source
from limite.core.pretrained.soup_match import differences
from limite.core.recipe.file_faults import told_of_file
from limite.core.recipe.load import whole
from limite.core.recipe.members import planned, source_at
from limite.core.recipe.naming import misnamed, policies_before
from limite.core.recipe.problem_checks import Texts, asked_faults
from limite.core.recipe.problem_files import source_faults
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import Greedy, Member, Soup
from limite.core.recipe.tasting import asked_of
from limite.core.registry import Registry


def soup_faults(
    recipe: Recipe,
    name: str,
    stage: Soup,
    registry: Registry,
    texts: dict[str, Texts],
    files: list[Mistake],
    *,
    readable: bool,
) -> Iterator[Fault]:
    """What is wrong with a soup; mistakes in a file of problems go into ``files``.

    With files of a tokenizer that are not ``readable`` nothing is encoded.
    """
    texts[name] = Texts()
    if getattr(stage, "start", None) is not None:
        yield Fault(("start",), "has no use: a soup begins with the models that 'of' names")
    weights, greedy = getattr(stage, "weights", None), getattr(stage, "greedy", None)
    if weights is not None and greedy is not None:
        yield Fault(("weights",), "a greedy soup finds its own; leave out one of the two")
    elif weights is not None:
        try:
            checked_weights(weights, len(stage.of), "weights")
        except LimiteError as error:
            yield Fault(("weights",), str(error).removeprefix("weights: "))
    members = stage.members
    yield from _twice(members)
    places: list[tuple[int, Member]] = []
    for number, member in enumerate(members):
        if member.stage is None:
            places.append((number, member))
        else:
            for message in _stage_faults(recipe, name, member):
                yield Fault(("of", number), message)
    if places and readable:
        yield from _place_faults(recipe, members, places)
    if isinstance(greedy, Greedy):
        for fault in _greedy_faults(
            recipe, name, greedy, registry, texts, files, readable=readable
        ):
            outside = fault.path[:1] in (("model",), ("tokenizer",))
            yield fault if outside else fault.under("greedy")


def _twice(members: Sequence[Member]) -> Iterator[Fault]:
    seen: dict[Any, str] = {}
    for number, member in enumerate(members):
        what = member.path.resolve() if member.stage is None else (member.stage, member.step)
        if what in seen:
            message = f"{seen[what]!r} is there twice; give a model more weight with 'weights'"
            yield Fault(("of", number), message)
        seen[what] = member.said


def _stage_faults(recipe: Recipe, name: str, member: Member) -> Iterator[str]:
    """Why a stage leaves no such weights before the soup is made."""
    wanted, right = str(member.stage), policies_before(recipe, name)
    why = misnamed(recipe, name, wanted, right, "does not train a policy", path=True)
    if why is not None:
        yield why
        return
    if member.step is None:
        return
    stage = recipe.stages[wanted]
    if not whole(stage):  # how many steps it has may be what could not be read
        return
    steps = getattr(stage, "steps", None)
    every = getattr(stage, "checkpoint_every", None)
    if steps is None or every is None:
        yield f"the stage {wanted!r} has no steps; name it without '@'"
        return
    step = int(member.step) if member.step.isascii() and member.step.isdigit() else 0
    if not 1 <= step <= steps or (step % every and step != steps):
        at = f"every {every} of its {steps} steps" if every < steps else f"at step {steps} alone"
        yield f"the stage {wanted!r} leaves no checkpoint of step {member.step!r}: it saves {at}"


def _place_faults(
    recipe: Recipe, members: Sequence[Member], places: Sequence[tuple[int, Member]]
) -> Iterator[Fault]:
    """Models at paths must be readable, and be what the run's own model is."""
    own: Source | None = None
    try:
        own = planned(recipe, members)
    except LimiteError as error:
        yield Fault(("of",), f"models at paths cannot be compared with the recipe's: {error}")
    for number, member in places:
        try:
            other = source_at(member.path)
        except LimiteError as error:
            for mistake in mistakes_of(error):
                yield Fault(("of", number), f"{member.said}: {mistake}")
            continue
        if own is not None:
            for mistake in differences(("the recipe", own), (member.said, other), dtypes=False):
                yield Fault(("of", number), str(mistake))


def _greedy_faults(
    recipe: Recipe,
    name: str,
    greedy: Greedy,
    registry: Registry,
    texts: dict[str, Texts],
    files: list[Mistake],
    *,
    readable: bool,
) -> Iterator[Fault]:
    if (greedy.problems is None) == (greedy.benchmark is None):
        given = "both are given" if greedy.problems is not None else "neither is given"
        message = f"problems are drawn ('problems') or come from a file ('benchmark'); {given}"
        yield Fault(("problems",), message)
        return
    if greedy.problems is not None:
        wrong: set[str] = set()
        verifier = cast(Verifier, greedy.verifier)
        yield from source_faults(greedy.problems, registry, files, wrong, verifier)
        if wrong:
            return
    try:
        problems = asked_of(recipe, name, greedy, registry).problems
    except LimiteError as error:
        field = "problems" if greedy.benchmark is None else "benchmark"
        yield from told_of_file(error, (field,), files)
        return
    if readable:
        yield from asked_faults(recipe, name, problems, texts, max_tokens=greedy.max_tokens)
