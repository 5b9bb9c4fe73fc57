"""What the stages of a recipe take of each GPU, what fits on it, and what would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from limite.core.model.memory import cache_bytes
from limite.core.recipe.memory_parts import (
    DTYPES,
    LOGITS_BYTES,
    PARTS,
    Demand,
    Machine,
    MemoryPlan,
    Numbers,
    Part,
    StageMemory,
    activation_bytes,
)
from limite.core.recipe.problem_checks import Texts
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL, SFT

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder

MOST_GPUS = 4096


def stage_memory(demand: Demand) -> StageMemory:
    """All parts of a stage, and as many responses at once as there is room for."""
    parts = [part for made in PARTS for part in made(demand) if part.bytes]
    machine, wanted = demand.machine, demand.responses
    at_once = 0
    notes = []
    if wanted:
        tokens = demand.texts.longest_prompt + demand.longest_response
        each = cache_bytes(demand.decoder, 1, tokens, DTYPES[machine.dtype])
        taken = sum(part.bytes for part in parts if part.at in ("always", "sampling"))
        at_once = max(0, min(wanted, (machine.gpu_bytes - taken) // max(each, 1)))
        parts.append(Part(name="cache", bytes=max(at_once, 1) * each, at="sampling"))
        if not at_once:
            notes.append(f"the cache of one response of {tokens:,} tokens does not fit")
        elif at_once < wanted:
            notes.append(
                f"{wanted:,} responses of a GPU are sampled {at_once:,} at a time where all are "
                f"of the full {tokens:,} tokens"
            )
    notes += _uneven(demand)
    found = StageMemory(
        name=demand.name,
        type=demand.stage.kind,
        parts=tuple(parts),
        machine=machine,
        tokens=demand.tokens,
        activations_recomputed=activation_bytes(demand, recompute=True),
        activations_kept=activation_bytes(demand, recompute=False),
        most_tokens=most_tokens(demand, parts),
        wanted=wanted,
        at_once=at_once,
        notes=(),
    )
    notes += _advice(demand, found)
    return attrs.evolve(found, notes=tuple(notes))


def memory_plan(
    recipe: Recipe, decoder: Decoder, texts: Mapping[str, Texts], machine: Machine
) -> MemoryPlan:
    """The plan of a recipe whose model is ``decoder``, a model of shapes alone."""
    demands = [
        Demand(
            recipe=recipe,
            name=name,
            stage=stage,
            decoder=decoder,
            texts=texts[name],
            machine=machine if stage.shared_out else attrs.evolve(machine, gpus=1),
        )
        for name, stage in recipe.stages.items()
    ]
    return MemoryPlan(
        name=recipe.name,
        parameters=demands[0].parameters,
        numbers=Numbers.of(decoder),
        machine=machine,
        stages=tuple(map(stage_memory, demands)),
    )


def most_tokens(demand: Demand, parts: Sequence[Part]) -> int:
    """The tokens that fit through the learner of a GPU at once, beside everything else."""
    if not demand.trains:
        return 0
    others = sum(
        part.bytes
        for part in parts
        if part.at in ("always", "learning") and part.name not in ("activations", "logits")
    )
    room = demand.machine.gpu_bytes - others
    recompute = bool(getattr(demand.stage, "recompute", False))
    each = activation_bytes(attrs.evolve(demand, fixed_tokens=1), recompute=recompute)
    # Both grow with the tokens, logits up to their bound.
    beyond = (room - LOGITS_BYTES) // each
    if beyond * demand.logits_each >= LOGITS_BYTES:
        return beyond
    return max(0, room // (each + demand.logits_each))


def gpus_needed(demand: Demand) -> int | None:
    """How many GPUs of the kind hold the learner, counted in doublings over which its batch can be
    shared out; None where none do."""
    if not (demand.machine.sharded and demand.stage.shared_out):
        return None
    gpus = demand.machine.gpus
    while (gpus := 2 * gpus) <= MOST_GPUS:
        more = attrs.evolve(demand, machine=attrs.evolve(demand.machine, gpus=gpus))
        if [*_uneven(more)]:
            continue
        parts = [part for made in PARTS for part in made(more)]
        if sum(each.bytes for each in parts if each.at != "sampling") <= more.machine.gpu_bytes:
            return gpus
    return None


def _uneven(demand: Demand) -> Iterator[str]:
    """That a batch does not go into the number of GPUs, which `limite run` refuses."""
    if not isinstance(demand.stage, (RL, SFT)):
        return
    field = "groups" if isinstance(demand.stage, RL) else "batch"
    count, gpus = int(getattr(demand.stage, field)), demand.machine.gpus
    if count % gpus:
        fewer = next(each for each in range(gpus, 0, -1) if count % each == 0)
        yield (
            f"{field!r} ({count:,}) cannot be shared out evenly over {gpus:,} GPUs, so that "
            f"'limite run' refuses it; it can over {fewer:,}"
        )


def _advice(demand: Demand, found: StageMemory) -> Iterator[str]:
    """What would make a stage fit that does not."""
    most, learning = demand.machine.gpu_bytes, found.at("learning")
    if not demand.trains or learning <= most:
        return
    saved = found.activations_kept - found.activations_recomputed
    recompute = getattr(demand.stage, "recompute", None)
    if recompute is False and learning - saved <= most:
        yield "does not fit; it does with recompute = true"
    elif demand.tokens > demand.longest_row:
        yield "does not fit; lower 'microbatch_tokens'"
    else:
        yield "does not fit; more GPUs are needed, or a shorter context"
    needed = gpus_needed(demand)
    if needed is not None:
        yield f"fits as it is on {needed:,} such GPUs"
