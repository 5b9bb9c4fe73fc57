"""The time below which no stage can fall: a roofline over what makers publish of a GPU.

Learning takes its operations at the peak of the GPUs that share it, or the time in which weights
and gradients travel where they are shared out, if that is longer: both go on at once. Sampling
takes its operations at the peak, or the time in which every token's weights and half of its full
cache are read from memory, if that is longer; as many responses go on at once as fit.
"""

from __future__ import annotations

import attrs

from limite.core.recipe.cost import Plan, StagePlan
from limite.core.recipe.gpus import Gpu
from limite.core.recipe.memory_parts import Machine, MemoryPlan, StageMemory

ARITHMETIC, MEMORY, LINKS = "arithmetic", "memory", "links"
PASSES = 3
"""How often weights, or gradients, travel for each micro-batch: two gathers and a sum."""


@attrs.frozen(kw_only=True)
class StageTime:
    """At least so many seconds, and what most of them are bound by."""

    name: str
    learning_s: float
    sampling_s: float
    bound_by: str

    @property
    def seconds(self) -> float:
        return self.learning_s + self.sampling_s


def times_of(memory: MemoryPlan, cost: Plan, gpu: Gpu) -> tuple[StageTime, ...]:
    """A time for every stage."""
    planned = {each.name: each for each in cost.stages}
    return tuple(
        stage_time(each, planned[each.name], memory.parameters, each.machine, gpu)
        for each in memory.stages
    )


def stage_time(
    stage: StageMemory, plan: StagePlan, parameters: int, machine: Machine, gpu: Gpu
) -> StageTime:
    """The time of one stage on the GPUs that do it."""
    peak = gpu.tops(machine.dtype) * 1e12 * machine.gpus
    sampled = min(2.0 * parameters * plan.sampled_tokens, plan.operations)
    learning = {
        ARITHMETIC: (plan.operations - sampled) / peak,
        LINKS: _travelling(stage, plan, parameters, machine, gpu),
    }
    sampling = {ARITHMETIC: sampled / peak, MEMORY: _reading(stage, plan, parameters, machine, gpu)}
    kinds = sorted(
        (
            (max(each.values()), max(each, key=lambda name: each[name]))
            for each in (learning, sampling)
        ),
        reverse=True,
    )
    return StageTime(
        name=stage.name,
        learning_s=max(learning.values()),
        sampling_s=max(sampling.values()),
        bound_by=kinds[-1][1] if kinds[-1][0] else "-",
    )


def _travelling(
    stage: StageMemory, plan: StagePlan, parameters: int, machine: Machine, gpu: Gpu
) -> float:
    """Seconds in which what is shared out travels; or gradients alone, where it is not."""
    if machine.gpus == 1 or not plan.updates:
        return 0.0
    others = (machine.gpus - 1) / machine.gpus
    once = others * parameters * machine.item / (gpu.link_gbs * 1e9)
    if not machine.sharded:
        return 2 * once * plan.updates  # a sum of which all have the whole
    at_once = max(stage.tokens * machine.gpus, 1)
    passes = max(plan.updates, -(-plan.trained_tokens // at_once))
    return PASSES * once * passes


def _reading(
    stage: StageMemory, plan: StagePlan, parameters: int, machine: Machine, gpu: Gpu
) -> float:
    """Seconds in which weights, and caches half full, are read for every token sampled."""
    if not plan.sampled_tokens:
        return 0.0
    rows = max(stage.at_once, 1)
    cache = sum(part.bytes for part in stage.parts if part.name == "cache") / 2
    tokens = plan.sampled_tokens / machine.gpus
    return tokens / rows * (parameters * machine.item + cache) / (gpu.memory_gbs * 1e9)
