"""The time below which no stage can fall: a roofline over what makers publish of a GPU.

Learning takes its operations at the peak of the GPUs that share it, or the time in which weights
and gradients travel where they are shared out, if that is longer: both go on at once. Sampling
takes its operations at the peak, or the time in which every token's weights and half of its full
cache are read from memory, if that is longer; as many responses go on at once as fit.
"""

from __future__ import annotations

import attrs

from limite.core.recipe.cost import Plan, StagePlan
from limite.core.recipe.exchange_plan import exchange
from limite.core.recipe.gpus import Gpu
from limite.core.recipe.memory_parts import Machine, MemoryPlan, Numbers, StageMemory

ARITHMETIC, MEMORY, LINKS = "arithmetic", "memory", "links"


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
        stage_time(each, planned[each.name], memory.numbers, memory.parameters, gpu)
        for each in memory.stages
    )


def stage_time(
    stage: StageMemory, plan: StagePlan, numbers: Numbers, parameters: int, gpu: Gpu
) -> StageTime:
    """The time of one stage on the GPUs that do it."""
    machine = stage.machine
    peak = gpu.tops(machine.dtype) * 1e12 * machine.gpus
    sampled = min(2.0 * parameters * plan.sampled_tokens, plan.operations)
    learning = {
        ARITHMETIC: (plan.operations - sampled) / peak,
        LINKS: _travelling(stage, plan, numbers, gpu),
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


def _travelling(stage: StageMemory, plan: StagePlan, numbers: Numbers, gpu: Gpu) -> float:
    """Seconds in which what is shared out travels; or gradients alone, where it is not."""
    if stage.machine.gpus == 1 or not plan.updates:
        return 0.0
    return plan.updates * (exchange(stage, plan, numbers, gpu).seconds or 0.0)


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
