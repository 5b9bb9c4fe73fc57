"""Whether a stage gives an objective what it reads, and nothing that contradicts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from limite.core.config_faults import Fault
from limite.core.kinds import Objective
from limite.core.recipe.naming import misnamed, policies_before
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL, SFT, START, Distill, Preference, Pretrain
from limite.core.registry import Registry

REFERENCE = "reference_logp"


def column_faults(
    stage: Pretrain | SFT | RL | Preference | Distill, registry: Registry
) -> Iterator[Fault]:
    """The stage must supply every column that the objective reads."""
    objective = cast(Objective, stage.objective)
    needs = getattr(objective, "needs", None) or frozenset()
    lacking = frozenset(needs) - stage.supplies
    title = registry.name_of(type(objective))
    article = "an" if stage.kind in ("rl", "sft") else "a"
    together, pairs = getattr(objective, "rows_together", 1), isinstance(stage, Preference)
    if together != (2 if pairs else 1):
        message = (
            f"{title!r} compares no pairs of responses, and a {stage.kind} stage makes nothing else"
            if pairs
            else f"{title!r} compares pairs of responses, which {article} {stage.kind} stage does "
            "not make"
        )
        yield Fault(("objective",), message)
        return
    if REFERENCE in lacking and isinstance(stage, RL):
        message = (
            f"must name the weights that {title!r} is pulled towards (its 'beta' is above 0): an "
            "earlier stage, or 'start' for those this stage begins with"
        )
        yield Fault(("reference",), message)
        lacking -= {REFERENCE}
    if lacking:
        have = ", ".join(sorted(stage.supplies))
        some = ", ".join(sorted(lacking))
        yield Fault(
            ("objective",),
            f"{title!r} reads {some}, which {article} {stage.kind} stage lacks; it has {have}",
        )


def list_faults(recipe: Recipe, stage: RL | Distill) -> Iterator[Fault]:
    """A list of likely tokens can have no more than there are."""
    ids, count = recipe.tokenizer.vocabulary, stage.listed_tokens
    path: tuple[str, ...]
    if isinstance(stage, RL):
        path, read = ("objective", "topk"), hasattr(stage.objective, "topk")
    else:
        path, read = ("listed_tokens",), stage.reads_lists
    if read and count is not None and count > ids:
        yield Fault(path, f"must be at most {ids}, the tokens of the tokenizer, got {count}")


def method_faults(stage: RL, registry: Registry) -> Iterator[Fault]:
    """An objective that is half of a method takes no advantage that belongs to another."""
    advantage = stage.advantage
    for name, wanted in getattr(stage.objective, "requires_of_advantage", {}).items():
        found = getattr(advantage, name, None)
        if advantage is None or found == wanted:
            continue
        title, given = (registry.name_of(type(each)) for each in (stage.objective, advantage))
        leave = f"leave 'advantage' out for the one that belongs to {title!r}"
        if name == "needs_values":
            message = f"{title!r} takes credit from a critic, and {given!r} gives none; {leave}"
            yield Fault(("advantage",), message)
        elif found is None:
            message = f"{title!r} takes an advantage with {name} {wanted!r}; {leave}"
            yield Fault(("advantage",), message)
        else:
            message = (
                f"must be {wanted!r} with {title!r}, of which it is a half, got {found!r}; {leave}"
            )
            yield Fault(("advantage", name), message)


def reference_faults(recipe: Recipe, name: str, stage: RL, registry: Registry) -> Iterator[Fault]:
    """A reference must have a use, and a reset a reference."""
    if stage.reference not in (None, START) and misnamed(
        recipe, name, str(stage.reference), policies_before(recipe, name), ""
    ):
        return  # that is told already, and enough for one word
    needs = getattr(stage.objective, "needs", None)
    if stage.reference is not None and needs is not None and REFERENCE not in needs:
        title = registry.name_of(type(stage.objective))
        message = (
            f"has no use: {title!r} reads no reference; set its 'beta' above 0, or leave it out"
        )
        yield Fault(("reference",), message)
    if stage.reference is None and stage.reference_reset_every is not None:
        yield Fault(("reference_reset_every",), "needs a 'reference' to replace")


def repetition_faults(stage: RL) -> Iterator[Fault]:
    """A penalty for what nobody looks for."""
    if stage.repetition_penalty and stage.repetition is None:
        message = "without 'repetition' no response is looked at, so that none is penalised"
        yield Fault(("repetition_penalty",), message)


def overlong_faults(stage: RL) -> Iterator[Fault]:
    """A penalty on length needs a limit that is the stage's own, and a buffer within it."""
    penalty = stage.overlong
    if penalty is None:
        return
    if stage.budget == "native-context" and penalty.factor:
        message = (
            "must be left out with budget 'native-context', where nothing but the context may "
            "shorten a response"
        )
        yield Fault(("overlong",), message)
    elif penalty.buffer_tokens > stage.max_tokens:
        message = (
            f"must be at most max_tokens, {stage.max_tokens}, the longest response; "
            f"got {penalty.buffer_tokens}"
        )
        yield Fault(("overlong", "buffer_tokens"), message)


def correction_faults(stage: RL, registry: Registry) -> Iterator[Fault]:
    """An objective of whole responses takes weights of whole responses."""
    correction = stage.correction
    if correction is None or not getattr(stage.objective, "per_row", False):
        return
    if correction.level == "token":
        title = registry.name_of(type(stage.objective))
        message = (
            f"must be 'sequence' or 'sequence-mean' with {title!r}, which gives all tokens of a "
            "response one weight"
        )
        yield Fault(("correction", "level"), message)
