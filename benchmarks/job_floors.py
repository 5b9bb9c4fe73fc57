"""The least time a job's products take: counted operations over the rate of a large product.

What is counted is what any way of doing the job must compute: a prompt is read once for all its
responses, a response is sampled token by token and read once, with gradients, where its group has
contrast. A product and a sum are two operations; the backward pass is twice the forward pass.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.floors import visible_pairs
from benchmarks.jobs import Job

SIDE = 1024  # of the square matrices whose product is timed


def shape_of(job: Job, directory: str | None) -> Mapping[str, int]:
    """Sizes of the model, by the names of ``Job.spec``."""
    if directory is None:
        return job.spec
    from limite.core.pretrained.directory import ModelDirectory

    spec: Any = ModelDirectory.open(directory).spec
    names = ("width", "layers", "heads", "kv_heads", "head_width", "mlp_width", "vocabulary")
    return {name: getattr(spec, name) for name in names}


def operations(job: Job, shape: Mapping[str, int], flat: int = 0) -> float:
    """Of a step in which so many groups are without contrast."""
    lengths: Sequence[int] = job.lengths or (job.tokens,) * job.rows
    learned = lengths[flat * job.rollouts :]
    groups = job.groups - flat
    prompts = job.groups * job.prompt_tokens
    sampling = _layers(shape, prompts + sum(lengths), _pairs(job, lengths, job.groups))
    sampling += _head(shape, sum(lengths))
    reading = _layers(
        shape, groups * job.prompt_tokens + sum(learned), _pairs(job, learned, groups)
    )
    reading += _head(shape, sum(learned))
    return sampling + 3 * reading


def _pairs(job: Job, lengths: Sequence[int], groups: int) -> int:
    """Of a query and a key that it sees."""
    before = visible_pairs(job.prompt_tokens, None)
    rows = sum(visible_pairs(job.prompt_tokens + length, None) - before for length in lengths)
    return groups * before + rows


def _layers(shape: Mapping[str, int], tokens: int, pairs: int) -> float:
    width, heads = shape["width"], shape["heads"] * shape["head_width"]
    attention = 2 * heads + 2 * shape["kv_heads"] * shape["head_width"]
    matrices = width * (attention + 3 * shape["mlp_width"])
    return shape["layers"] * (2.0 * tokens * matrices + 4.0 * heads * pairs)


def _head(shape: Mapping[str, int], tokens: int) -> float:
    return 2.0 * tokens * shape["width"] * shape["vocabulary"]


def rate() -> float:
    """Operations a second of processor time, of a product in float32 by one thread."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        a, b = torch.ones(SIDE, SIDE), torch.ones(SIDE, SIDE)
        seconds = []
        for _ in range(9):
            before = time.process_time()
            a.mm(b)
            seconds.append(time.process_time() - before)
        return 2.0 * SIDE**3 / median(seconds[2:])
    finally:
        torch.set_num_threads(threads)
