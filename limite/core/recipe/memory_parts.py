"""What the stages of a recipe take of each GPU, part by part, from shapes alone.

Estimates: weights, gradients and moments of what trains are shared out evenly over the GPUs, as
``limite run --shard`` does; models beside them are whole on each. A stage that one rank does alone
has one GPU. What a runtime needs for itself is not counted, nor is what an allocator leaves
unused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs
import torch
from torch import nn

from limite.core.kinds import Optimizer
from limite.core.model.init import build_decoder
from limite.core.model.memory import BYTES, cache_bytes, training_bytes
from limite.core.pretrained.settings import at
from limite.core.recipe.problem_checks import Texts
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import (
    RL,
    SFT,
    Distill,
    Eval,
    FitCritic,
    Member,
    Preference,
    Pretrain,
    Stage,
)

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder

DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}
LOGITS_BYTES = 504_000_000
"""The most that logits take: what the head's kernel bounds its scratch to."""


@attrs.frozen(kw_only=True)
class Machine:
    """GPUs of one kind, and how models lie on them."""

    gpus: int
    gpu_bytes: int
    dtype: str = "bfloat16"
    sharded: bool = True

    @property
    def item(self) -> int:
        """Bytes of a number of a weight."""
        return DTYPES[self.dtype].itemsize

    def shared(self, size: float) -> int:
        """What a GPU holds of something that is shared out."""
        return -(-round(size) // self.gpus) if self.sharded else round(size)


@attrs.frozen(kw_only=True)
class Part:
    """Something in memory. ``at`` says when it is there: always, while sampling, or learning."""

    name: str
    bytes: int
    at: str = "always"


@attrs.frozen(kw_only=True)
class StageMemory:
    """One stage on one GPU of those that do it; ``tokens`` go through its learner at once.

    ``at_once`` responses of full length fit beside what is always there,
    of ``wanted`` that a GPU's share of a batch has; both are 0 where nothing is sampled.
    ``most_tokens`` fit through the learner of a GPU at once; 0 where none do, or nothing learns."""

    name: str
    type: str
    parts: tuple[Part, ...]
    machine: Machine
    tokens: int
    activations_recomputed: int
    activations_kept: int
    most_tokens: int
    wanted: int
    at_once: int
    notes: tuple[str, ...]

    def at(self, when: str) -> int:
        """The bytes of that time."""
        return sum(part.bytes for part in self.parts if part.at in ("always", when))

    @property
    def bytes(self) -> int:
        """At its fullest, with as many responses at once as fit."""
        return max(self.at("learning"), self.at("sampling"))


@attrs.frozen(kw_only=True)
class Numbers:
    """How many numbers a model's matrices have, and what is not shared out."""

    in_layers: int
    outside: int
    whole: int

    @classmethod
    def of(cls, decoder: Decoder) -> Numbers:
        inside = outside = whole = 0
        for name, each in decoder.named_parameters():
            if each.ndim < 2 or each.dtype != decoder.dtype:
                whole += each.numel()
            elif name.startswith("layers."):
                inside += each.numel()
            else:
                outside += each.numel()
        return cls(in_layers=inside, outside=outside, whole=whole)

    @property
    def matrices(self) -> int:
        return self.in_layers + self.outside


@attrs.frozen(kw_only=True)
class MemoryPlan:
    """All stages of a recipe that hold a model on a GPU."""

    name: str
    parameters: int
    numbers: Numbers
    machine: Machine
    stages: tuple[StageMemory, ...]

    def plain(self) -> dict[str, Any]:
        """The same as JSON-able data."""
        stages = [{**attrs.asdict(each), "bytes": each.bytes} for each in self.stages]
        return {**attrs.asdict(self), "stages": stages}


@attrs.frozen(kw_only=True)
class Demand:
    """What a part is reckoned from."""

    recipe: Recipe
    name: str
    stage: Stage
    decoder: Decoder
    texts: Texts
    machine: Machine
    fixed_tokens: int | None = None
    """In place of those that the settings make."""

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.decoder.parameters())

    @property
    def logits_each(self) -> int:
        """The bytes of all logits of a token."""
        return (self.decoder.spec.padded_vocabulary or 0) * self.machine.item

    @property
    def trains(self) -> bool:
        return hasattr(self.stage, "optimizer")

    @property
    def tokens(self) -> int:
        """That go through the learner of a GPU at once."""
        if self.fixed_tokens is not None:
            return self.fixed_tokens
        if not self.trains:
            return 0
        stage, gpus = self.stage, self.machine.gpus
        longest = self.longest_row
        if isinstance(stage, Pretrain):
            return min(max(stage.microbatch_tokens, longest), -(-stage.batch_tokens // gpus))
        rows = self.responses if isinstance(stage, RL) else -(-int(cast(Any, stage).batch) // gpus)
        rows *= 2 if isinstance(stage, Preference) else 1
        given = getattr(stage, "microbatch_tokens", None)
        most = rows * longest
        return most if given is None else min(max(int(given), longest), max(most, longest))

    @property
    def longest_row(self) -> int:
        """Tokens of a prompt with what follows it."""
        context = self.decoder.spec.context
        if isinstance(self.stage, SFT) and self.stage.windows is not None:
            return min(self.stage.windows.tokens + 1, context)
        if isinstance(self.stage, FitCritic):
            return context
        longest = self.texts.longest_document
        return longest or min(self.longest_response + self.texts.longest_prompt, context)

    @property
    def longest_response(self) -> int:
        """The most tokens that are sampled of one response; 0 where nothing is."""
        stage = self.stage
        if isinstance(stage, RL):
            context = self.decoder.spec.context
            if stage.budget == "fixed-response":
                return stage.max_tokens
            return context - min(self.texts.prompts, default=0)
        if isinstance(stage, Eval):
            return self.texts.response or int(stage.term("max_tokens"))
        if isinstance(stage, Distill):
            if stage.on_policy:
                return stage.response_tokens
            return 0 if stage.asked is None else stage.asked.max_tokens
        if isinstance(stage, Preference) and stage.sampled is not None:
            return stage.sampled.max_tokens
        return 0

    @property
    def responses(self) -> int:
        """That a GPU samples of a batch, or of all that are asked."""
        stage = self.stage
        count = 0
        if isinstance(stage, RL):
            count = stage.groups * stage.rollouts
        elif isinstance(stage, Eval):
            count = self.texts.items or stage.count * int(stage.term("samples"))
        elif isinstance(stage, Distill) and self.longest_response:
            count = stage.batch if stage.on_policy else stage.asked.count if stage.asked else 0
        elif isinstance(stage, Preference) and stage.sampled is not None:
            count = stage.sampled.count
        return -(-count // self.machine.gpus)


def weights(demand: Demand) -> Iterator[Part]:
    """Those being trained or asked, and float32 masters where they are in a narrower dtype."""
    size = demand.parameters
    machine = demand.machine
    yield Part(name="weights", bytes=machine.shared(size * machine.item))
    if demand.trains and machine.item < BYTES:
        yield Part(name="masters", bytes=machine.shared(size * BYTES))


def gradients(demand: Demand) -> Iterator[Part]:
    """One for each weight."""
    if demand.trains:
        size = demand.machine.shared(demand.parameters * demand.machine.item)
        yield Part(name="gradients", bytes=size, at="learning")


def optimizer(demand: Demand) -> Iterator[Part]:
    """What it remembers of each weight, in float32."""
    if demand.trains:
        kept = state_bytes(demand.decoder, cast(Any, demand.stage).optimizer)
        yield Part(name="optimizer", bytes=demand.machine.shared(kept))


def gathered(demand: Demand) -> Iterator[Part]:
    """Two layers' whole weights at a time and all that is in none while it learns; all of them
    while it samples."""
    machine = demand.machine
    if not machine.sharded or machine.gpus == 1:
        return
    if demand.trains:
        size = gathered_bytes(Numbers.of(demand.decoder), demand.decoder.spec.layers, machine)
        yield Part(name="layers gathered", bytes=size, at="learning")
    if demand.responses:
        yield Part(
            name="all weights gathered", bytes=demand.parameters * machine.item, at="sampling"
        )


def gathered_bytes(numbers: Numbers, layers: int, machine: Machine) -> int:
    """The most of whole weights that a GPU is given while it learns, and of whole gradients that
    it has not given away: those of a layer, and of what is in none."""
    return (3 * numbers.in_layers // max(layers, 1) + 2 * numbers.outside) * machine.item


def others(demand: Demand) -> Iterator[Part]:
    """Models beside the one being trained: references, teachers, critics, a copy that samples."""
    stage, machine = demand.stage, demand.machine
    own = demand.parameters * machine.item
    if isinstance(stage, RL):
        if stage.reference is not None:
            yield Part(name="reference", bytes=own)
        if stage.overlap_actor_learner:
            yield Part(name="sampling copy", bytes=own)
        if stage.critic is not None:
            kept = own
            if stage.critic.mode == "online":
                moments = state_bytes(demand.decoder, stage.critic.optimizer)
                masters = BYTES if machine.item < BYTES else 0
                kept += demand.parameters * (masters + machine.item) + moments
            yield Part(name="critic", bytes=kept)
    if isinstance(stage, FitCritic):
        yield Part(name="best so far", bytes=own)
    if isinstance(stage, Preference) and not stage.precompute_reference:
        yield Part(name="reference", bytes=own)
    if isinstance(stage, Distill) and stage.teaching is not None:
        yield Part(name="teacher", bytes=_held(demand, stage.teaching))
    if isinstance(stage, Preference) and stage.sampled is not None:
        for called, model in stage.sampled.models.items():
            yield Part(name=called, bytes=_held(demand, model), at="sampling")


def captured(demand: Demand) -> Iterator[Part]:
    """Caches that an engine keeps from batch to batch, and so while the learner works, too.

    There is one for each capacity in use, and each is half of the next: together at most twice that
    of all responses at their full length.
    """
    keeps = float(getattr(getattr(demand.stage, "engine", None), "keeps_gib", 0.0))
    if isinstance(demand.stage, RL) and keeps:
        tokens = demand.texts.longest_prompt + demand.longest_response
        most = cache_bytes(demand.decoder, demand.responses, tokens, DTYPES[demand.machine.dtype])
        yield Part(name="captured steps", bytes=min(round(keeps * 2**30), 2 * most))


def activations(demand: Demand) -> Iterator[Part]:
    """What the backward pass keeps of the tokens that go through at once."""
    if demand.trains:
        recompute = bool(getattr(demand.stage, "recompute", False))
        size = activation_bytes(demand, recompute=recompute)
        yield Part(name="activations", bytes=size, at="learning")


def logits(demand: Demand) -> Iterator[Part]:
    """Of as many ids at once as there is scratch for."""
    if demand.trains:
        size = min(demand.tokens * demand.logits_each, LOGITS_BYTES)
        yield Part(name="logits", bytes=size, at="learning")


PARTS: Sequence[Callable[[Demand], Iterator[Part]]] = (
    weights,
    gradients,
    optimizer,
    gathered,
    others,
    captured,
    activations,
    logits,
)


def activation_bytes(demand: Demand, *, recompute: bool) -> int:
    """What the backward pass keeps, with layers computed again or not."""
    size = training_bytes(demand.decoder.spec, 0, demand.tokens, recompute=recompute)
    return size * demand.machine.item // BYTES


def state_bytes(decoder: Decoder, settings: Optimizer | str) -> int:
    """What an optimizer keeps: it makes one step with small weights of the same names and ranks,
    and what it keeps of the shape of a weight it keeps of all of that weight's numbers."""
    sizes = {name: each.numel() for name, each in decoder.named_parameters()}
    named = [
        (name, nn.Parameter(torch.ones([min(size, 2) for size in each.shape])))
        for name, each in decoder.named_parameters()
    ]
    for _, parameter in named:
        parameter.grad = torch.ones_like(parameter)
    made = cast(Optimizer, settings).build(named)
    made.step()
    total = 0
    for name, parameter in named:
        for value in made.state.get(parameter, {}).values():
            if torch.is_tensor(value):
                like = value.shape == parameter.shape
                total += (sizes[name] if like else value.numel()) * value.element_size()
    return total


def _held(demand: Demand, model: Member) -> int:
    """The weights of another model."""
    size = demand.parameters
    if model.stage is None:
        spec = at(str(model.path)).filled(demand.decoder.spec.vocabulary or 0)
        other = build_decoder(spec, device="meta")
        size = sum(parameter.numel() for parameter in other.parameters())
    return size * demand.machine.item
