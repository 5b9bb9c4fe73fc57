"""What can be known of a recipe before a weight is loaded: every mistake at once, and its cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

import attrs

from limite.core import config
from limite.core.config_faults import Fault
from limite.core.config_fields import refused
from limite.core.errors import LimiteError, SettingsError, did_you_mean
from limite.core.kinds import Advantage, LRSchedule, Objective, Optimizer
from limite.core.model.spec import ModelSpec
from limite.core.recipe.cost import Plan, plan_of
from limite.core.recipe.load import LoadedRecipe
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.samples import Texts, text_faults, texts_of
from limite.core.recipe.stages import RL, SFT, Eval, Stage
from limite.core.registry import Registry
from limite.core.types import Answer, Group, Problem, Response

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder

# What two evaluations must share for their problems to be compared one by one.
PAIRED = ("seed", "problems", "count", "samples", "max_tokens", "temperature", "verifier")


def check_recipe(loaded: LoadedRecipe, registry: Registry) -> Plan:
    """What the recipe will do and cost. A SettingsError lists all that would stop it.

    Components are asked: a model on the meta device, an advantage with a made-up group, a few
    problems of every kind. No weight is read and nothing is trained.
    """
    recipe = loaded.recipe
    faults: list[Fault] = []
    decoder = _decoder(recipe, faults)
    texts: dict[str, Texts] = {}
    for name, stage in recipe.stages.items():
        found = [*order_faults(recipe, name, stage)]
        mix_faults, texts[name] = texts_of(recipe, name, stage, registry)
        found += [*mix_faults, *text_faults(recipe, stage, texts[name])]
        if isinstance(stage, RL):
            found += rl_faults(stage, registry)
        if isinstance(stage, (SFT, RL)):
            found += trainer_faults(stage, decoder)
        faults += [
            fault if fault.path[:1] == ("tokenizer",) else fault.under("stages", name)
            for fault in found
        ]
    if faults or decoder is None:
        raise SettingsError(config.mistakes(faults, loaded.locate))
    return plan_of(recipe, decoder, texts, registry)


def _decoder(recipe: Recipe, faults: list[Fault]) -> Decoder | None:
    """The model as shapes without values; None when it cannot be built."""
    from limite.core.model.init import build_decoder

    spec = cast(ModelSpec, recipe.model)
    ids = recipe.tokenizer.vocabulary
    if spec.vocabulary is not None and spec.vocabulary < ids:
        message = f"must be at least the tokenizer's {ids} ids, got {spec.vocabulary}"
        faults.append(Fault(("model", "vocabulary"), message))
        return None
    try:
        return build_decoder(spec.filled(ids), device="meta")
    except (ValueError, LimiteError) as error:
        faults += [fault.under("model") for fault in refused(error, ModelSpec)]
        return None


def order_faults(recipe: Recipe, name: str, stage: Stage) -> Iterator[Fault]:
    """Stages that are named must come earlier and be of the right kind."""
    names = list(recipe.stages)
    earlier = {each: recipe.stages[each] for each in names[: names.index(name)]}
    if stage.start is not None:
        trained = [each for each, other in earlier.items() if other.trains]
        yield from _named_faults("start", stage.start, names, earlier, trained, "train")
    if isinstance(stage, Eval) and stage.against is not None:
        measured = [each for each, other in earlier.items() if isinstance(other, Eval)]
        yield from _named_faults("against", stage.against, names, earlier, measured, "evaluate")
        other = earlier.get(stage.against)
        if isinstance(other, Eval):
            for field in PAIRED:
                ours, theirs = getattr(stage, field), getattr(other, field)
                if ours != theirs:
                    shown = "" if attrs.has(type(ours)) else f": {theirs} there, {ours} here"
                    message = f"must equal that of {stage.against!r} to be compared with it{shown}"
                    yield Fault((field,), message)


def _named_faults(
    field: str,
    wanted: str,
    names: list[str],
    earlier: Mapping[str, Stage],
    right: list[str],
    does: str,
) -> Iterator[Fault]:
    if wanted in right:
        return
    if wanted in earlier:
        message = f"the stage {wanted!r} does not {does}"
    elif wanted in names:
        message = f"the stage {wanted!r} does not come before this one; stages run in order"
    else:
        message = f"unknown stage {wanted!r}"
    near = did_you_mean(wanted, [each for each in right if each != wanted])
    yield Fault((field,), message + near)


def rl_faults(stage: RL, registry: Registry) -> Iterator[Fault]:
    """What the parts of a stage demand of each other."""
    objective = cast(Objective, stage.objective)
    needs = getattr(objective, "needs", None) or frozenset()
    lacking = sorted(needs - stage.supplies)
    if lacking:
        title = registry.name_of(type(objective))
        have = ", ".join(sorted(stage.supplies))
        message = f"{title!r} reads {', '.join(lacking)}, which an rl stage lacks; it has {have}"
        yield Fault(("objective",), message)
    updates = stage.off_policy_updates + 1
    if updates > stage.groups:
        yield Fault(
            ("off_policy_updates",),
            f"a batch of {stage.groups} groups cannot be dealt into {updates} updates; "
            f"at most {stage.groups - 1} here, or more 'groups'",
        )
    yield from _advantage_faults(cast(Advantage, stage.advantage), stage.rollouts)


def _advantage_faults(advantage: Advantage, rollouts: int) -> Iterator[Fault]:
    """Asks the advantage for the credit of a group with one right response."""
    problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))
    responses = [
        Response(
            problem_id=problem.id,
            sample_index=index,
            prompt_ids=(1, 2),
            completion_ids=(3, 4),
            logprobs=(-0.5, -0.5),
            finish_reason="eos",
            completion_budget=2,
            policy_version=0,
            text="#2",
        )
        for index in range(rollouts)
    ]
    rewards = [1.0] + [0.0] * (rollouts - 1)
    group = Group(
        problem=problem,
        responses=responses,
        rewards=rewards,
        correct=[reward > 0 for reward in rewards],
    )
    try:
        credit = advantage(group)
    except (ValueError, LimiteError) as error:
        yield Fault(("rollouts",), f"the advantage cannot use groups of {rollouts}: {error}")
        return
    if not bool(credit.any()):
        message = f"with groups of {rollouts} every advantage is 0, and nothing can be learned"
        yield Fault(("rollouts",), message)


def trainer_faults(stage: SFT | RL, decoder: Decoder | None) -> Iterator[Fault]:
    """Asks the optimizer for its shape and the schedule for its ends."""
    schedule = cast(LRSchedule, stage.lr_schedule)
    updates = stage.steps * (stage.off_policy_updates + 1 if isinstance(stage, RL) else 1)
    try:
        for step in (0, updates - 1):
            schedule(step, updates)
    except (ValueError, LimiteError) as error:
        yield Fault(("lr_schedule",), f"{error}")
    if decoder is None:
        return
    try:
        cast(Optimizer, stage.optimizer).build(list(decoder.named_parameters()))
    except (ValueError, LimiteError) as error:
        yield Fault(("optimizer",), f"{error}")
