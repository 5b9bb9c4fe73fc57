"""What a recipe will cost: tokens, arithmetic and memory of every stage, from its settings alone.

Estimates, for choosing between settings. Responses are counted at their full budget, so sampling
is an upper bound. A trained token costs 6 floating-point operations a parameter (2 forward, 4
backward), a sampled one 2. What mixing tokens costs on top every attention says itself, for rows of
the mean length; the backward pass counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.errors import LimiteError
from limite.core.kernels.dispatch import Survey
from limite.core.model.init import build_decoder, count_parameters
from limite.core.model.memory import BYTES, cache_bytes, training_bytes
from limite.core.model.settings import DecoderSpec
from limite.core.pretrained.directory import config_of
from limite.core.pretrained.settings import Pretrained, at
from limite.core.recipe.context import settings_of
from limite.core.recipe.problem_checks import Texts
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import (
    RL,
    SFT,
    Distill,
    Eval,
    FitCritic,
    Preference,
    Pretrain,
    Soup,
    Stage,
)
from limite.core.registry import Registry
from limite.core.train.data.windows import WindowCounts, Windows, cut

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder


@attrs.frozen(kw_only=True)
class StagePlan:
    """One stage: what it does at most, and what that takes."""

    name: str
    type: str
    steps: int
    updates: int
    sampled_tokens: int
    trained_tokens: int
    operations: float
    memory_bytes: int
    objective: str | None = None
    reads: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    """What else there is to say of it, a line each."""


@attrs.frozen(kw_only=True)
class KernelPlan:
    """What runs one operation of the model, and why it is that."""

    implementation: str
    reason: str


@attrs.frozen(kw_only=True)
class Plan:
    """A whole recipe, stage by stage. ``kernels_told`` is ``kernels`` in one line.

    ``notes`` say what the model's attention keeps the learner from doing, and why it could not be
    exported.
    """

    name: str
    parameters: int
    stages: tuple[StagePlan, ...]
    kernels: Mapping[str, KernelPlan]
    kernels_told: str
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The same as JSON-able data."""
        return attrs.asdict(self)


def plan_of(
    recipe: Recipe,
    decoder: Decoder,
    texts: Mapping[str, Texts],
    registry: Registry,
    kernels: Survey,
) -> Plan:
    """The plan of a recipe whose model is ``decoder``, with what its problems look like."""
    parameters = sum(parameter.numel() for parameter in decoder.parameters())
    return Plan(
        name=recipe.name,
        parameters=parameters,
        stages=tuple(
            _stage_plan(recipe, name, stage, decoder, parameters, texts, registry)
            for name, stage in recipe.stages.items()
        ),
        kernels={
            op: KernelPlan(implementation=choice.name, reason=choice.reason)
            for op, choice in kernels.choices.items()
        },
        kernels_told=str(kernels),
        notes=(*learner_notes(decoder), *export_notes(recipe, decoder)),
    )


def learner_notes(decoder: Decoder) -> Iterator[str]:
    """What the attention of some layers costs a learner, in sentences."""
    mixers = list(enumerate(decoder.mixers()))
    padded = [layer for layer, mixer in mixers if not mixer.ragged]
    alone = [layer for layer, mixer in mixers if mixer.ragged and not mixer.shares_prompts]
    if padded:
        yield (
            f"the attention of {_layers(padded)} takes rows of one length only: rows are padded to "
            "the longest beside them, and every response is read with its own copy of the prompt"
        )
    elif alone:
        yield (
            f"the attention of {_layers(alone)} does not let rows share a prompt: every response "
            "is read with its own copy of it"
        )


def export_notes(recipe: Recipe, decoder: Decoder) -> Iterator[str]:
    """Why ``limite export`` will refuse what the recipe trains, where it will."""
    if isinstance(settings_of(recipe), Pretrained):
        return  # its directory has a configuration already
    try:
        config_of(decoder.spec)
    except LimiteError as error:
        yield f"a run of it can be sampled and measured, and not exported: {error}"


def _layers(numbers: Sequence[int]) -> str:
    return f"layer{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def _stage_plan(
    recipe: Recipe,
    name: str,
    stage: Stage,
    decoder: Decoder,
    parameters: int,
    others: Mapping[str, Texts],
    registry: Registry,
) -> StagePlan:
    spec, texts = decoder.spec, others[name]
    steps = updates = sampled = trained = 0
    memory = BYTES * parameters
    objective: str | None = None
    reads: tuple[str, ...] | None = None
    operations = 0.0
    notes: tuple[str, ...] = ()

    def mixing(tokens: float) -> int:
        """One way through the attention of all layers, for a row."""
        return sum(mixer.arithmetic(round(tokens)) for mixer in decoder.mixers())

    if isinstance(stage, SFT):
        steps = updates = stage.steps
        texts = _in_windows(stage.windows, texts)
        trained = round(stage.steps * stage.batch * texts.mean_document)
        operations = 6.0 * parameters * trained
        operations += 3.0 * stage.steps * stage.batch * mixing(texts.mean_document)
        longest = stage.batch * texts.longest_document
        if stage.microbatch_tokens is not None:
            longest = min(longest, max(stage.microbatch_tokens, texts.longest_document))
        memory += training_bytes(spec, parameters, longest, recompute=stage.recompute)
        notes = _of_windows(stage, others[name])
    elif isinstance(stage, Pretrain):
        steps = updates = stage.steps
        trained = steps * stage.batch_tokens
        operations = 6.0 * parameters * trained
        rows = trained / max(texts.mean_document - 1, 1)
        operations += 3.0 * rows * mixing(texts.mean_document)
        longest = min(max(stage.microbatch_tokens, texts.longest_document), stage.batch_tokens)
        memory += training_bytes(spec, parameters, longest, recompute=stage.recompute)
        notes = texts.notes
        objective, reads = _reads(stage.objective, registry)
    elif isinstance(stage, Distill):
        steps = updates = stage.steps
        rows = stage.steps * stage.batch
        trained = round(rows * texts.mean_document)
        model = stage.teaching
        teacher = 0
        if model is not None:
            teacher = parameters if model.stage else _parameters(str(model.path), spec)
        passes = 4 if stage.on_policy else 3  # forward and twice that back; what is sampled once
        operations = (2.0 * passes * parameters + 2.0 * teacher) * trained
        operations += passes * rows * mixing(texts.mean_document)
        sampled = rows * stage.response_tokens if stage.on_policy else 0
        if stage.asked is not None:
            sampled += stage.asked.count * stage.asked.max_tokens
            asked = stage.asked.count * (texts.mean_prompt + stage.asked.max_tokens)
            operations += 2.0 * teacher * asked
        longest = max(stage.microbatch_tokens, texts.longest_document)
        longest = min(longest, stage.batch * texts.longest_document)
        memory += (
            training_bytes(spec, parameters, longest, recompute=stage.recompute) + BYTES * teacher
        )
        objective, reads = _reads(stage.objective, registry)
    elif isinstance(stage, Preference):
        steps = updates = stage.steps
        rows = 2 * stage.steps * stage.batch
        trained = round(rows * texts.mean_document)
        # The reference reads what is trained on, or every pair once.
        read = min(rows, 2 * texts.items) if stage.precompute_reference and texts.items else rows
        operations = parameters * texts.mean_document * (6.0 * rows + 2.0 * read)
        operations += (3.0 * rows + read) * mixing(texts.mean_document)
        longest = max(stage.microbatch_tokens, 2 * texts.longest_document)
        longest = min(longest, 2 * stage.batch * texts.longest_document)
        memory += training_bytes(spec, parameters, longest, recompute=stage.recompute)
        memory += 0 if stage.precompute_reference else BYTES * parameters
        if stage.sampled is not None:
            sampled = 2 * stage.sampled.count * stage.sampled.max_tokens
            asked = stage.sampled.count * (texts.mean_prompt + stage.sampled.max_tokens)
            for model in stage.sampled.models.values():
                own = parameters if model.stage else _parameters(str(model.path), spec)
                operations += 2.0 * own * asked
        objective, reads = _reads(stage.objective, registry)
    elif isinstance(stage, RL):
        steps, updates = stage.steps, stage.steps * (stage.off_policy_updates + 1)
        budget = _budget(stage, spec, texts)
        rows = stage.groups * stage.rollouts
        sampled = stage.steps * rows * budget
        trained = round(sampled + stage.steps * rows * texts.mean_prompt)
        most = getattr(stage.rollout_schedule, "most_groups", None)
        left_out = 0 if most is None else most(stage.groups) - stage.groups
        sampled += stage.steps * left_out * stage.rollouts * budget
        asked = stage.steps * left_out * stage.rollouts
        operations += 2.0 * parameters * asked * (budget + texts.mean_prompt)
        if stage.stop_when is not None and stage.stop_when.probe is not None:
            probe = stage.stop_when.probe
            asked = (1 + stage.steps // probe.every) * probe.count * probe.samples
            sampled += asked * budget
            operations += 2.0 * parameters * asked * (budget + texts.mean_prompt)
        operations += 2.0 * parameters * trained + 6.0 * parameters * trained
        operations += 4.0 * stage.steps * rows * mixing(texts.mean_prompt + budget)
        cache = cache_bytes(decoder, rows, texts.longest_prompt + budget)
        longest_row = texts.longest_prompt + budget
        # A micro-batch is never larger than all there is.
        longest = min(max(stage.microbatch_tokens, longest_row), rows * longest_row)
        learning = training_bytes(spec, parameters, longest, recompute=stage.recompute)
        if stage.critic is not None:
            # It reads every response once, and where it learns goes through them as the policy.
            passes = 1 if stage.critic.mode == "frozen" else 4
            operations += 2.0 * passes * parameters * trained
            operations += passes * stage.steps * rows * mixing(texts.mean_prompt + budget)
            memory += BYTES * parameters
            memory += training_bytes(spec, parameters, 0) if passes > 1 else 0
        memory += max(cache, learning)
        objective, reads = _reads(stage.objective, registry)
    elif isinstance(stage, FitCritic):
        steps = updates = stage.steps
        source = stage.rollouts_among(recipe.stages, name)
        recorded = None if source is None else recipe.stages[source]
        row = 0.0  # nobody has looked into files
        if isinstance(recorded, RL):
            row = others[str(source)].mean_prompt + _budget(recorded, spec, others[str(source)])
        trained = round(stage.steps * stage.batch * row)
        operations = 6.0 * parameters * trained + 3.0 * stage.steps * stage.batch * mixing(row)
        memory += BYTES * parameters  # the best there was
        memory += training_bytes(
            spec,
            parameters,
            max(stage.microbatch_tokens, round(row)),
            recompute=stage.recompute,
        )
        objective, reads = _reads(stage.objective, registry)
    elif isinstance(stage, Soup):
        steps = 1
        if stage.greedy is not None:
            # Every model by itself, and every average but the first.
            rows = (2 * len(stage.of) - 1) * len(texts.prompts) * stage.greedy.samples
            sampled = rows * stage.greedy.max_tokens
            operations = 2.0 * parameters * (sampled + rows * texts.mean_prompt)
            operations += rows * mixing(texts.mean_prompt + stage.greedy.max_tokens)
            at_once = len(texts.prompts) * stage.greedy.samples
            longest = texts.longest_prompt + stage.greedy.max_tokens
            memory += cache_bytes(decoder, at_once, longest)
    elif isinstance(stage, Eval):
        rows = texts.items or stage.count * int(stage.term("samples"))
        response = texts.response or int(stage.term("max_tokens"))
        sampled = rows * response
        operations = 2.0 * parameters * (sampled + rows * texts.mean_prompt)
        operations += rows * mixing(texts.mean_prompt + response)
        memory += cache_bytes(decoder, rows, texts.longest_prompt + response)
    return StagePlan(
        name=name,
        type=stage.kind,
        steps=steps,
        updates=updates,
        sampled_tokens=sampled,
        trained_tokens=trained,
        operations=operations,
        memory_bytes=memory,
        objective=objective,
        reads=reads,
        notes=notes,
    )


def _in_windows(windows: Windows | None, texts: Texts) -> Texts:
    """The lengths of rows where documents are cut."""
    if windows is None:
        return texts
    rows = [each.stop - each.start for each in cut(texts.documents, windows)]
    return attrs.evolve(texts, documents=rows)


def _of_windows(stage: SFT, texts: Texts) -> tuple[str, ...]:
    """What becomes of the documents that were drawn."""
    if stage.windows is None:
        return ()
    told = WindowCounts.of(texts.documents, stage.windows).told(stage.windows)
    first = "" if len(texts.documents) == stage.documents else ", the first that were drawn"
    return (f"{told}{first}",)


def _parameters(teacher: str, spec: DecoderSpec) -> int:
    """How many numbers the model in a directory has."""
    return count_parameters(build_decoder(at(teacher).filled(spec.vocabulary), device="meta"))


def _reads(objective: Any, registry: Registry) -> tuple[str, tuple[str, ...] | None]:
    """The name of an objective, and the columns it says that it reads."""
    needs = getattr(objective, "needs", None)
    return registry.name_of(type(objective)), None if needs is None else tuple(sorted(needs))


def _budget(stage: RL, spec: DecoderSpec, texts: Texts) -> int:
    """The most tokens a response may have."""
    if stage.budget == "fixed-response":
        return stage.max_tokens
    return spec.context - min(texts.prompts, default=0)
