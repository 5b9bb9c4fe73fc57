"""Gate: forward, backward and update over a full context fit beside the actor.

An estimate comes first: what cannot fit is missed before a byte of it is allocated.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import torch

from limite.core.actor.turns import BEFORE_UPDATE
from limite.core.model.memory import BYTES, cache_bytes, training_bytes
from limite.core.recipe.admit.canary import Bench
from limite.core.recipe.admit.report import Gate
from limite.core.recipe.admit.tolerances import verdict
from limite.core.recipe.stages import RL

EVERY_S = 0.005  # between two looks at the process's memory


def memory(bench: Bench) -> Gate:
    """One micro-batch of rows as long as the context, through the stage's own update."""
    stage = original(bench)
    decoder, context = bench.decoder, bench.context.model.context
    rows = max(1, stage.microbatch_tokens // context)
    rows = min(rows, stage.groups * stage.rollouts)
    tokens = rows * context
    parameters = bench.session.parameters()
    beside = actor_bytes(bench, stage)
    estimate = beside + training_bytes(decoder.spec, parameters, tokens, recompute=stage.recompute)
    there = memory_at_hand(decoder.device)
    shapes = {
        "context_tokens": context,
        "rows": rows,
        "parameters": parameters,
        "actor": "a copy of the weights and a cache" if beside else "the learner's own weights",
    }
    found = {"estimate_bytes": estimate, "memory_at_hand_bytes": there}
    first = verdict("memory/estimate_share", estimate / there if there else None)
    if not first.passed:
        return Gate(
            name="memory",
            verdicts=[first],
            recorded={**shapes, "probe": "not begun: the estimate does not fit"},
            circumstances=found,
        )
    told = probe(bench, stage, rows, context)
    return Gate(
        name="memory",
        verdicts=[first, verdict("memory/peak_share", told["peak_bytes"] / there)],
        recorded={**shapes, "probe": "forward, backward and update"},
        circumstances=found | told,
    )


def original(bench: Bench) -> RL:
    """The stage as the recipe has it: its sizes are what must fit."""
    stage = bench.loaded.recipe.stages[bench.name]
    assert isinstance(stage, RL)
    return stage


def actor_bytes(bench: Bench, stage: RL) -> int:
    """What the actor keeps while the learner works: nothing where they take turns."""
    held = 0
    if stage.rollout_prefetch_schedule == BEFORE_UPDATE:
        held += BYTES * bench.session.parameters()
    if stage.overlap_actor_learner:
        held += cache_bytes(bench.decoder, *resident_cache(bench, stage))
    return held


def resident_cache(bench: Bench, stage: RL) -> tuple[int, int]:
    """Rows and tokens of the cache of a batch that is sampled while the learner works."""
    context = bench.context.model.context
    tokens = context if stage.budget != "fixed-response" else min(context, 2 * stage.max_tokens)
    return stage.groups * stage.rollouts, tokens


def probe(bench: Bench, stage: RL, rows: int, context: int) -> dict[str, Any]:
    """The peak of an update over full rows, in bytes above what was there before, and its time."""
    scored = [bench.long_row(context, number) for number in range(rows)]
    actor: list[Any] = []
    with bench.at_start(), Peak(bench.decoder.device) as peak:
        started = time.perf_counter()
        if stage.rollout_prefetch_schedule == BEFORE_UPDATE:
            actor.append(bench.rollouts.held(bench.weights))
        if stage.overlap_actor_learner:
            actor.append(bench.decoder.new_cache(*resident_cache(bench, stage)))
        bench.learner.update(scored, bench.totals(scored))
        took = time.perf_counter() - started
    return {"peak_bytes": peak.bytes, "time_s": took}


class Peak:
    """The most memory in use within the block, beyond what was before it.

    On a GPU the allocator knows; on a CPU a thread looks at the process's resident size, which
    memory that was freed and kept may hide a part of.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.bytes = 0
        self._before = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Peak:
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
            self._before = torch.cuda.memory_allocated(self.device)
        else:
            self._before = resident_bytes()
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self.device.type == "cuda":
            self.bytes = torch.cuda.max_memory_allocated(self.device) - self._before
            return
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.bytes = max(self.bytes, resident_bytes() - self._before)
            if self._end.wait(EVERY_S):
                return


def resident_bytes() -> int:
    """What the process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory_at_hand(device: torch.device) -> int:
    """Bytes that may still be taken: of the GPU, or of the machine and of the group we run in."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return min([int(value.split()[0]) * 1024, *_group_limit()])
    raise OSError("/proc/meminfo does not say what is available")


def _group_limit() -> list[int]:
    """What a limit on the group of processes leaves, where there is one."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return []
    return [max(0, int(limit) - used)] if limit.isdigit() else []
