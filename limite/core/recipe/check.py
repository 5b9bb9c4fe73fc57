"""What can be known of a recipe before a weight is loaded: every mistake at once, and its cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs

from limite.core import config
from limite.core.config import Locate
from limite.core.config_faults import Fault
from limite.core.config_fields import refused
from limite.core.errors import LimiteError, Mistake, SettingsError, sentence
from limite.core.kernels.dispatch import Survey
from limite.core.kinds import Advantage, LRSchedule, Optimizer
from limite.core.model.settings import Model
from limite.core.recipe.actor_checks import turn_faults
from limite.core.recipe.cost import Plan, plan_of
from limite.core.recipe.critic_checks import critic_faults, fitting_faults, rollout_faults
from limite.core.recipe.curriculum_checks import curriculum_faults
from limite.core.recipe.data_checks import pair_faults, teacher_faults, trace_faults
from limite.core.recipe.engine_checks import engine_faults
from limite.core.recipe.eval_checks import eval_faults
from limite.core.recipe.kernel_checks import kernel_survey
from limite.core.recipe.load import LoadedRecipe, draft_recipe, finished, in_order
from limite.core.recipe.made_checks import made_faults, own_faults, taught_faults
from limite.core.recipe.memory_parts import Machine, MemoryPlan
from limite.core.recipe.memory_plan import memory_plan
from limite.core.recipe.models import synthetic_faults
from limite.core.recipe.naming import earlier_stages, misnamed, policies_before
from limite.core.recipe.objective_checks import (
    column_faults,
    correction_faults,
    list_faults,
    method_faults,
    overlong_faults,
    reference_faults,
    repetition_faults,
)
from limite.core.recipe.overlap_checks import (
    Questions,
    rollout_overlap_faults,
    soup_overlap_faults,
)
from limite.core.recipe.pretrain_checks import pretrain_faults
from limite.core.recipe.problem_checks import Texts, problem_faults
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.reworded_checks import reworded_faults
from limite.core.recipe.sampled_checks import sampled_faults
from limite.core.recipe.soup_checks import soup_faults
from limite.core.recipe.stability_checks import stability_faults
from limite.core.recipe.stages import (
    RL,
    SFT,
    START,
    VALUES,
    CriticSettings,
    Distill,
    Eval,
    FitCritic,
    MadeTexts,
    Preference,
    Pretrain,
    Soup,
    Stage,
    StrongWeak,
    Taught,
)
from limite.core.registry import Registry
from limite.core.types import Answer, Group, Problem, Response

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder

# What two evaluations must share for their problems to be compared one by one.
PAIRED = (
    "seed",
    "problems",
    "suite",
    "data",
    "count",
    "samples",
    "max_tokens",
    "temperature",
    "budget",
    "top_p",
    "profile",
    "shots",
    "system",
    "instruction",
    "stop",
    "thinking",
    "grading",
    "natural_end",
    "verifier",
)


def check_file(
    path: str | Path, overrides: Sequence[str], registry: Registry
) -> tuple[LoadedRecipe, Plan]:
    """Reads and checks a recipe; a SettingsError lists every mistake of both kinds at once."""
    loaded, found = _sound(path, overrides, registry)
    return loaded, found.plan(loaded.recipe, registry)


def _sound(
    path: str | Path, overrides: Sequence[str], registry: Registry
) -> tuple[LoadedRecipe, Findings]:
    draft = draft_recipe(path, overrides, registry)
    found = look_over(draft.recipe, registry, complete=not draft.mistakes)
    mistakes = in_order(list(dict.fromkeys([*draft.mistakes, *found.in_recipe(draft.locate)])))
    if mistakes or found.files:
        raise SettingsError([*mistakes, *found.files])
    return finished(draft, registry), found


def memory_of_file(
    path: str | Path, overrides: Sequence[str], registry: Registry, machine: Machine
) -> MemoryPlan:
    """What a recipe takes of the GPUs of a machine; a SettingsError lists every mistake in it."""
    return plans_of_file(path, overrides, registry, machine)[0]


def plans_of_file(
    path: str | Path, overrides: Sequence[str], registry: Registry, machine: Machine
) -> tuple[MemoryPlan, Plan]:
    """What a recipe takes of the GPUs of a machine, and its cost.

    A SettingsError lists every mistake in it.
    """
    loaded, found = _sound(path, overrides, registry)
    assert found.decoder is not None
    memory = memory_plan(loaded.recipe, found.decoder, found.texts, machine)
    return memory, found.plan(loaded.recipe, registry)


def check_recipe(loaded: LoadedRecipe, registry: Registry) -> Plan:
    """What the recipe will do and cost. A SettingsError lists all that would stop it."""
    found = look_over(loaded.recipe, registry)
    mistakes = [*found.in_recipe(loaded.locate), *found.files]
    if mistakes:
        raise SettingsError(mistakes)
    return found.plan(loaded.recipe, registry)


@attrs.define(kw_only=True)
class Findings:
    """What a look at a recipe has found."""

    faults: list[Fault]
    """Of the recipe's settings."""
    files: list[Mistake]
    """In the files that its model, tokenizer and texts are read from."""
    decoder: Decoder | None
    texts: Mapping[str, Texts]
    kernels: Survey

    def in_recipe(self, locate: Locate) -> list[Mistake]:
        kernels = [Mistake(fault) for fault in self.kernels.faults]
        return [*config.mistakes(self.faults, locate), *kernels]

    def plan(self, recipe: Recipe, registry: Registry) -> Plan:
        assert self.decoder is not None
        return plan_of(recipe, self.decoder, self.texts, registry, self.kernels)


def look_over(recipe: Recipe, registry: Registry, *, complete: bool = True) -> Findings:
    """Asks the components of a recipe whether they will work together.

    A model on the meta device, an advantage with a made-up group, a few problems of every kind: no
    weight is loaded and nothing is trained. Of weights that exist the headers are read. When the
    recipe is not ``complete``, questions that need a setting it lacks are left out.
    """
    faults: list[Fault] = []
    texts: dict[str, Texts] = {}
    in_data: list[Mistake] = []

    def ask(questions: Iterable[Fault], *under: str) -> None:
        try:
            for fault in questions:
                above = () if fault.path[:1] in (("model",), ("tokenizer",)) else under
                faults.append(fault.under(*above))
        except Exception:
            # A recipe with mistakes may lack anything at all, and those are told already.
            if complete:
                raise

    def in_files(part: str) -> list[Mistake]:
        try:
            mistakes: list[Mistake] = getattr(recipe, part).mistakes()
        except Exception:
            if complete:
                raise
            return []
        return mistakes

    in_tokenizer, in_model = in_files("tokenizer"), in_files("model")
    models: list[Decoder] = []
    ask(model_faults(recipe, models, wrong_files=bool(in_model), readable=not in_tokenizer))
    decoder = models[0] if models else None
    questions = Questions(recipe=recipe, registry=registry)
    for name, stage in getattr(recipe, "stages", {}).items():
        place = ("stages", name)
        ask(order_faults(recipe, name, stage), *place)
        readable = not in_tokenizer
        if isinstance(stage, Preference):
            watch = questions.after(name)
            ask(pair_faults(recipe, name, stage, texts, in_data, watch, readable=readable), *place)
            sampled = getattr(stage, "sampled", None)
            if isinstance(sampled, StrongWeak):
                found = sampled_faults(
                    recipe, name, sampled, registry, texts, in_data, readable=readable
                )
                ask(found, *place, "sampled")
        elif isinstance(stage, Distill):
            watch = questions.after(name)
            ask(trace_faults(recipe, name, stage, texts, in_data, watch, readable=readable), *place)
            taught = getattr(stage, "taught", None)
            if isinstance(taught, Taught):
                found = taught_faults(
                    recipe, name, stage, taught, registry, texts, in_data, readable=readable
                )
                ask(found, *place, "taught")
            ask(teacher_faults(recipe, name, stage, texts, in_data, readable=readable), *place)
        elif isinstance(stage, Soup):
            found = soup_faults(recipe, name, stage, registry, texts, in_data, readable=readable)
            ask(found, *place)
            ask(soup_overlap_faults(name, stage, questions), *place)
        elif isinstance(stage, Pretrain):
            made: list[str] = []
            of_problems = getattr(stage, "made", None)
            if isinstance(of_problems, MadeTexts) and readable:
                found = made_faults(recipe, name, of_problems, registry, made, in_data)
                ask(found, *place, "made")
            found = pretrain_faults(
                recipe, name, stage, made, texts, in_data, questions, readable=readable
            )
            ask(found, *place)
        elif isinstance(stage, Eval):
            found = eval_faults(recipe, name, stage, registry, texts, in_data, readable=readable)
            ask(found, *place)
        else:
            found = problem_faults(recipe, name, stage, registry, texts, in_data, readable=readable)
            ask(found, *place)
        if isinstance(stage, SFT):
            ask(own_faults(recipe, name, stage, texts), *place)
        if isinstance(stage, (SFT, RL)):
            ask(reworded_faults(stage, questions.with_probes(name)), *place)
        if isinstance(stage, (Pretrain, SFT, RL, Preference, Distill)):
            ask(column_faults(stage, registry), *place)
        if isinstance(stage, (RL, Distill)) and readable:
            ask(list_faults(recipe, stage), *place)
        if isinstance(stage, RL):
            ask(reference_faults(stage, registry), *place)
            ask(method_faults(stage, registry), *place)
            ask(correction_faults(stage, registry), *place)
            ask(overlong_faults(stage), *place)
            ask(repetition_faults(stage), *place)
            if not in_model and not in_tokenizer:
                ask(engine_faults(recipe, stage), *place)
            ask(dealing_faults(stage), *place)
            ask(curriculum_faults(stage), *place)
            found = stability_faults(recipe, name, stage, registry, in_data, readable=readable)
            ask(found, *place)
            ask(turn_faults(stage), *place)
            ask(advantage_faults(stage), *place)
            ask(critic_faults(recipe, name, stage, registry), *place)
        if isinstance(stage, FitCritic):
            ask(rollout_faults(recipe, name, stage), *place)
            ask(rollout_overlap_faults(stage, questions.after(name)), *place)
            ask(fitting_faults(stage, registry, VALUES), *place)
        if isinstance(stage, (Pretrain, SFT, RL, FitCritic, Preference, Distill)):
            ask(schedule_faults(stage, stage), *place)
            if decoder is not None:
                ask(optimizer_faults(stage, decoder), *place)
        if isinstance(stage, RL) and isinstance(getattr(stage, "critic", None), CriticSettings):
            critic = cast(CriticSettings, stage.critic)
            ask(schedule_faults(stage, critic), *place, "critic")
            if decoder is not None:
                ask(optimizer_faults(critic, decoder), *place, "critic")
    kernels = kernel_survey(recipe, decoder)
    files = list(dict.fromkeys([*in_model, *in_tokenizer, *in_data]))
    return Findings(faults=faults, files=files, decoder=decoder, texts=texts, kernels=kernels)


def model_faults(
    recipe: Recipe, models: list[Decoder], *, wrong_files: bool, readable: bool
) -> Iterator[Fault]:
    """Builds the model as shapes without values, into ``models``.

    ``wrong_files``: mistakes in files the model is read from were told already. ``readable``: the
    tokenizer's files are sound.
    """
    from limite.core.model.init import build_decoder

    model = cast(Model, recipe.model)
    ids = recipe.tokenizer.vocabulary if readable else 1  # of which every model has enough
    if wrong_files and not _has_sizes(model):
        return
    yield from synthetic_faults(model)
    vocabulary = getattr(model, "vocabulary", None)
    if vocabulary is not None and vocabulary < ids:
        message = f"must be at least the tokenizer's {ids} ids, got {vocabulary}"
        yield Fault(("model", "vocabulary"), message)
        return
    try:
        models.append(build_decoder(model.filled(ids), device="meta"))
    except (ValueError, LimiteError) as error:
        yield from (fault.under("model") for fault in refused(error, type(model)))
    except Exception as error:
        if whole(model) and whole(getattr(model, "attention", None)):
            yield Fault(("model",), f"the model cannot be built: {sentence(error)}")


def _has_sizes(model: Model) -> bool:
    """Whether the configuration of a model that exists could be read."""
    try:
        return model.context > 0
    except LimiteError:
        return False


def order_faults(recipe: Recipe, name: str, stage: Stage) -> Iterator[Fault]:
    """Stages that are named must come earlier and be of the right kind."""
    earlier = earlier_stages(recipe, name)
    trained = policies_before(recipe, name)

    def named(field: str, wanted: str | None, right: list[str], why: str) -> Iterator[Fault]:
        told = None if wanted is None else misnamed(recipe, name, wanted, right, why)
        if told is not None:
            yield Fault((field,), told)

    if isinstance(stage, (RL, Preference)) and stage.reference != START:
        yield from named("reference", stage.reference, trained, "does not train")
    if isinstance(stage, Preference):
        sampled = [each for each, other in earlier.items() if isinstance(other, RL)]
        yield from named("rollouts", stage.rollouts, sampled, "does not record responses")
    yield from named("start", stage.start, trained, "does not train")
    if isinstance(stage, Eval) and stage.against is not None:
        measured = [each for each, other in earlier.items() if isinstance(other, Eval)]
        yield from named("against", stage.against, measured, "does not evaluate")
        other = earlier.get(stage.against)
        if isinstance(other, Eval):
            for field in PAIRED:
                ours, theirs = getattr(stage, field), getattr(other, field)
                if ours != theirs:
                    shown = "" if attrs.has(type(ours)) else f": {theirs} there, {ours} here"
                    message = f"must equal that of {stage.against!r} to be compared with it{shown}"
                    yield Fault((field,), message)


def dealing_faults(stage: RL) -> Iterator[Fault]:
    """Every update of a batch needs a group of its own, and contrast two responses in a group."""
    if stage.rollouts < 2 and getattr(type(stage.rollout_schedule), "needs_contrast", False):
        yield Fault(
            ("rollouts",),
            "must be at least 2 with a 'rollout_schedule' that keeps groups with right and wrong "
            f"answers, got {stage.rollouts}; 'complete-episodes' keeps all",
        )
    updates = stage.off_policy_updates + 1
    if updates > stage.groups:
        yield Fault(
            ("off_policy_updates",),
            f"must be at most {stage.groups - 1} with {stage.groups} groups, "
            f"as every update needs a group of its own, got {stage.off_policy_updates}",
        )


def advantage_faults(stage: RL) -> Iterator[Fault]:
    """Asks the advantage for the credit of a group with one right response."""
    advantage, rollouts = cast(Advantage, stage.advantage), stage.rollouts
    if not whole(advantage):
        return
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
    reads_values = getattr(advantage, "needs_values", False)
    group = Group(
        problem=problem,
        responses=responses,
        rewards=rewards,
        correct=[reward > 0 for reward in rewards],
        values=[[0.5, 0.5]] * rollouts if reads_values else None,
        values_after=[0.5] * rollouts if reads_values else None,
    )
    try:
        lost = not bool(advantage(group).any())
    except (ValueError, LimiteError) as error:
        yield Fault(("rollouts",), f"the advantage cannot use groups of {rollouts}: {error}")
        return
    except Exception as error:
        yield Fault(("advantage",), f"failed on a group of {rollouts}: {sentence(error)}")
        return
    if lost:
        message = f"with groups of {rollouts} every advantage is 0, and nothing can be learned"
        yield Fault(("rollouts",), message)


Trained = Pretrain | SFT | RL | FitCritic | Preference | Distill | CriticSettings
"""Settings of something that has an optimizer and a learning rate of its own."""


def schedule_faults(
    stage: Pretrain | SFT | RL | FitCritic | Preference | Distill, part: Trained
) -> Iterator[Fault]:
    """Asks a learning-rate schedule of the stage for the first update and the last."""
    updates = stage.steps * (stage.off_policy_updates + 1 if isinstance(stage, RL) else 1)
    if not whole(part.lr_schedule):
        return
    try:
        for step in (0, updates - 1):
            cast(LRSchedule, part.lr_schedule)(step, updates)
    except Exception as error:  # whatever a component raises is a mistake in it
        yield Fault(("lr_schedule",), sentence(error))


def optimizer_faults(part: Trained, decoder: Decoder) -> Iterator[Fault]:
    """Asks the optimizer whether it takes the parameters of the model, or of a critic on it."""
    from limite.core.model.critic import Critic

    if not whole(part.optimizer):
        return
    module = Critic(decoder) if isinstance(part, (FitCritic, CriticSettings)) else decoder
    try:
        cast(Optimizer, part.optimizer).build(list(module.named_parameters()))
    except Exception as error:  # whatever a component raises is a mistake in it
        yield Fault(("optimizer",), sentence(error))


def whole(value: Any) -> bool:
    """Whether a component, or other settings, could be read in full."""
    return attrs.has(type(value)) and all(
        hasattr(value, field.name) for field in attrs.fields(type(value))
    )
