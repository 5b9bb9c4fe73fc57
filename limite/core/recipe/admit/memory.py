"""Gate: forward, backward and update over a full context fit beside the actor.

An estimate comes first: what cannot fit is missed before a byte of it is allocated.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import attrs
import torch

from limite.core.actor.turns import BEFORE_UPDATE
from limite.core.device import choose_device
from limite.core.model.decoder import Decoder
from limite.core.model.init import count_parameters
from limite.core.model.memory import BYTES, cache_bytes, training_bytes
from limite.core.recipe.admit.canary import Bench
from limite.core.recipe.admit.report import Gate
from limite.core.recipe.admit.tolerances import verdict
from limite.core.recipe.stages import RL

EVERY_S = 0.005  # between two looks at the process's memory
TRYING_BYTES = 40
"""Of a parameter, while gates are held: weights, those to come back to, gradients and moments in
float32, weights and gradients once more in float64, and what is compared."""


@attrs.frozen(kw_only=True)
class Need:
    """What an update over full rows takes, from shapes alone."""

    context_tokens: int
    rows: int
    parameters: int
    actor_bytes: int
    update_bytes: int

    @classmethod
    def of(cls, decoder: Decoder, stage: RL) -> Need:
        """Of a stage as its recipe has it; ``decoder`` may be one of shapes alone."""
        context = decoder.spec.context
        rows = max(1, min(stage.microbatch_tokens // context, stage.groups * stage.rollouts))
        parameters = count_parameters(decoder)
        actor = 0
        if stage.rollout_prefetch_schedule == BEFORE_UPDATE:
            actor += BYTES * parameters
        if stage.overlap_actor_learner:
            actor += cache_bytes(decoder, *resident_cache(stage, context))
        return cls(
            context_tokens=context,
            rows=rows,
            parameters=parameters,
            actor_bytes=actor,
            update_bytes=training_bytes(
                decoder.spec, parameters, rows * context, recompute=stage.recompute
            ),
        )

    @property
    def bytes(self) -> int:
        """Beside the weights being trained."""
        return self.actor_bytes + self.update_bytes

    def recorded(self, probe: str) -> dict[str, Any]:
        held = "a copy of the weights, and a cache where it works meanwhile"
        return {
            "context_tokens": self.context_tokens,
            "rows": self.rows,
            "parameters": self.parameters,
            "actor": held if self.actor_bytes else "the learner's own weights",
            "estimate_bytes": self.bytes,
            "probe": probe,
        }


def memory(bench: Bench) -> Gate:
    """One micro-batch of rows as long as the context, through the stage's own update."""
    stage = bench.loaded.recipe.stages[bench.name]  # its own sizes are what must fit
    assert isinstance(stage, RL)
    need = Need.of(bench.decoder, stage)
    there = memory_at_hand(bench.decoder.device)
    estimate = verdict("memory/estimate_share", need.bytes / there if there else None)
    at_hand = {"memory_at_hand_bytes": there}
    if not estimate.passed:
        return Gate(
            name="memory",
            verdicts=[estimate],
            recorded=need.recorded("not begun: the estimate does not fit"),
            circumstances=at_hand,
        )
    told = probe(bench, stage, need)
    return Gate(
        name="memory",
        verdicts=[estimate, verdict("memory/peak_share", told["peak_bytes"] / there)],
        recorded=need.recorded("forward, backward and update"),
        circumstances=at_hand | told,
    )


def too_large(decoder: Decoder, stage: RL) -> Gate | None:
    """The gate, missed, where the model cannot even be tried; None where it can.

    ``decoder`` is of shapes alone, so that nothing has been allocated yet.
    """
    need = Need.of(decoder, stage)
    there = memory_at_hand(choose_device("cpu"))
    estimate = verdict(
        "memory/estimate_share", TRYING_BYTES * need.parameters / there if there else None
    )
    if estimate.passed:
        return None
    return Gate(
        name="memory",
        verdicts=[estimate],
        recorded=need.recorded("not begun: the model does not fit, even for the other gates"),
        circumstances={"memory_at_hand_bytes": there},
    )


def resident_cache(stage: RL, context: int) -> tuple[int, int]:
    """Rows and tokens of the cache of a batch that is sampled while the learner works."""
    tokens = context if stage.budget != "fixed-response" else min(context, 2 * stage.max_tokens)
    return stage.groups * stage.rollouts, tokens


def probe(bench: Bench, stage: RL, need: Need) -> dict[str, Any]:
    """The peak of an update over full rows, in bytes above what was there before, and its time."""
    scored = [bench.long_row(need.context_tokens, number) for number in range(need.rows)]
    actor: list[Any] = []
    with bench.at_start(), Peak(bench.decoder.device) as peak:
        started = time.perf_counter()
        if stage.rollout_prefetch_schedule == BEFORE_UPDATE:
            actor.append(bench.rollouts.held(bench.weights))
        if stage.overlap_actor_learner:
            actor.append(bench.decoder.new_cache(*resident_cache(stage, need.context_tokens)))
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
