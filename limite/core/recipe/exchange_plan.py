"""What GPUs send each other of weights and gradients in an update, and the least time that takes.

Where weights are shared out, each micro-batch gathers the matrices of layers twice, forward and
backward, and all others once, and sums gradients once; where they are not, gradients are summed
once in an update. Of a gathering, and of a sum that leaves each its part, a GPU sends and is sent
all but its own part; of a sum that leaves all of them the whole, twice as much. Sampling gathers
the whole weights once more in a step.
"""

from __future__ import annotations

import attrs

from limite.core.recipe.cost import Plan, StagePlan
from limite.core.recipe.gpus import Gpu
from limite.core.recipe.memory_parts import Machine, MemoryPlan, Numbers, StageMemory


@attrs.frozen(kw_only=True)
class Exchange:
    """Of one update of a stage: its micro-batches on each GPU, and what a GPU sends in all of them,
    in bytes, sampling included; it is sent as much. ``seconds`` at the links' peak, if known."""

    name: str
    micro_batches: int
    sent_bytes: int
    seconds: float | None = None


def exchanges_of(memory: MemoryPlan, cost: Plan, gpu: Gpu | None) -> tuple[Exchange, ...]:
    """One for every stage that several GPUs share and that trains."""
    planned = {each.name: each for each in cost.stages}
    return tuple(
        exchange(each, planned[each.name], memory.numbers, gpu)
        for each in memory.stages
        if each.machine.gpus > 1 and planned[each.name].updates
    )


def exchange(stage: StageMemory, plan: StagePlan, numbers: Numbers, gpu: Gpu | None) -> Exchange:
    """What travels in an update of one stage."""
    machine = stage.machine
    passes = micro_batches(stage, plan)
    sent = update_bytes(numbers, machine, passes)
    if machine.sharded and stage.wanted:
        sent += round(_parts(numbers.matrices, machine) * plan.steps / plan.updates)
    return Exchange(
        name=stage.name,
        micro_batches=passes,
        sent_bytes=sent,
        seconds=None if gpu is None else sent / (gpu.link_gbs * 1e9),
    )


def micro_batches(stage: StageMemory, plan: StagePlan) -> int:
    """Of an update, on each GPU: rows of the mean length, as many at once as the settings say."""
    at_once = max(stage.tokens * stage.machine.gpus, 1)
    return max(1, -(-plan.trained_tokens // (plan.updates * at_once)))


def update_bytes(numbers: Numbers, machine: Machine, passes: int) -> int:
    """What a GPU sends in an update of so many micro-batches."""
    if not machine.sharded:
        return round(2 * _parts(numbers.matrices + numbers.whole, machine))
    gathered = 2 * numbers.in_layers + numbers.outside
    each = _parts(gathered + numbers.matrices, machine)
    return round(passes * each + 2 * _parts(numbers.whole, machine))


def _parts(numbers: int, machine: Machine) -> float:
    """The bytes of all but a GPU's own part."""
    return numbers * machine.item * (machine.gpus - 1) / machine.gpus
