"""Weak scaling of the learner's step: two ranks, each with as many tokens as one process alone.

    python -m benchmarks scaling [--model NAME] [--tokens N] [--steps N] [--json FILE]

Four ways, one thread a process, in turn for some rounds: one process alone; two processes at once
that know nothing of each other; two ranks with whole weights; two ranks that share them out. What
two processes apart take is the ideal of two ranks on this machine: they have the same processors,
caches and memory bandwidth between them, and exchange nothing. Efficiency is the ideal's time over
that of ranks; that of one process over theirs is given beside it, and has in it what two programs
take from each other on any one machine.

A step is forward, backward, sums over ranks, clipping and AdamW. Times are of the wall: other work
on the machine shows, so leave it alone meanwhile.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

import attrs
import torch
import torch.distributed

from limite.core.model.init import build_decoder, unset_decoder
from limite.core.model.settings import DecoderSpec
from limite.core.model.spec import ModelSpec
from limite.core.recipe.models import model_named
from limite.core.recipe.ranks.launch import launched
from limite.core.recipe.ranks.ranks import OneRank, Ranks
from limite.core.recipe.ranks.sharded import Sharded
from limite.core.recipe.ranks.weights import Replicated, Weights
from limite.core.recipe.runners.stepper import Stepper
from limite.core.train.replay import Row, replay
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.schedules.constant import Constant

WAYS = {"alone": 1, "apart": 2, "replicated": 2, "sharded": 2}
"""How many processes each has."""
VOCABULARY = 512


@attrs.frozen(kw_only=True)
class Work:
    """What each process does."""

    spec: DecoderSpec
    tokens: int
    row_tokens: int
    steps: int

    def rows(self, rank: int) -> list[Row]:
        drawn = torch.Generator().manual_seed(rank)
        count = max(1, self.tokens // self.row_tokens)
        ids = torch.randint(0, VOCABULARY, (count, self.row_tokens), generator=drawn)
        return [Row(prompt=each[:1], completion=each[1:]) for each in ids.tolist()]


def weights_of(work: Work, way: str, ranks: Ranks) -> Weights:
    decoder = build_decoder(work.spec, 1)
    if way == "sharded":
        return Sharded(decoder, ranks, lambda: unset_decoder(work.spec))
    return Replicated(decoder, ranks)


def stepping(work: Work, way: str, ranks: Ranks) -> Callable[[], None]:
    """One step of a learner."""
    weights = weights_of(work, way, ranks)
    stepper = Stepper(
        module=weights.module,
        weights=weights,
        settings=AdamW(lr=1e-6),
        lr_schedule=Constant(),
        total_updates=10**6,
        clip_norm=1.0,
    )
    rows = work.rows(ranks.rank)
    targets = sum(len(row.completion) for row in rows) * ranks.world_size
    decoder: Any = weights.module

    def step() -> None:
        said = replay(decoder, rows)
        loss = -said.logp.sum() / targets
        loss.backward()
        whole, _ = ranks.total(float(loss.detach()), {}, "the loss")
        weights.sum_gradients("a step")
        stepper.update(whole, 0, where="the benchmark")

    return step


def timed(work: Work, way: str, ranks: Ranks, talk: Connection) -> None:
    """Takes steps when it is told to; seconds of each."""
    step = stepping(work, way, ranks)
    step()
    talk.send(None)
    talk.recv()
    took = []
    for _ in range(work.steps):
        began = time.perf_counter()
        step()
        took.append(time.perf_counter() - began)
    talk.send(took)


def process(work: Work, way: str, rank: int, port: int, talk: Connection) -> None:
    torch.set_num_threads(1)
    if way in ("alone", "apart"):
        timed(work, way, OneRank(), talk)
        return
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(WAYS[way]),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
    )
    with launched(shard=way == "sharded") as ranks:
        timed(work, way, ranks, talk)


def measured(work: Work, way: str) -> list[float]:
    """Seconds of each step of the slower process."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    forks = multiprocessing.get_context("fork")
    pairs = [forks.Pipe() for _ in range(WAYS[way])]
    processes = [
        forks.Process(target=process, args=(work, way, rank, port, theirs))
        for rank, (_, theirs) in enumerate(pairs)
    ]
    for each in processes:
        each.start()
    for ours, theirs in pairs:
        theirs.close()
        ours.recv()  # it is ready
    for ours, _ in pairs:
        ours.send(None)
    told = [ours.recv() for ours, _ in pairs]
    for each in processes:
        each.join()
    return [max(steps) for steps in zip(*told, strict=True)]


def spec_of(name: str | None) -> DecoderSpec:
    """A model by name, or one of seven million weights."""
    if name is not None:
        return model_named(name).filled(VOCABULARY)
    return ModelSpec(
        width=256, layers=8, heads=4, kv_heads=2, head_width=64, mlp_width=768, context=512
    ).filled(VOCABULARY)


def shown(report: dict[str, Any]) -> Iterator[str]:
    """The report as lines to read."""
    weights, tokens = report["parameters"], report["tokens_per_process"]
    yield f"{weights:,} weights, {tokens:,} tokens a process and step"
    for way, each in report["step_s"].items():
        yield f"{way:12} {1000 * each:8.1f} ms a step"
    for way, told in report["efficiency"].items():
        yield (
            f"{way:12} {told['of_two_apart']:.1%} of two processes apart, "
            f"{told['of_one_alone']:.1%} of one alone"
        )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", help="a model by its name")
    parser.add_argument("--tokens", type=int, default=4096, help="of each process in a step")
    parser.add_argument("--row-tokens", type=int, default=256)
    parser.add_argument("--steps", type=int, default=6, help="of each way in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="PATH", help="a file, a folder for one named, or -")
    asked = parser.parse_args(argv)
    spec = spec_of(asked.model)
    work = Work(spec=spec, tokens=asked.tokens, row_tokens=asked.row_tokens, steps=asked.steps)
    took: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(asked.rounds):
        for way in WAYS:
            took[way] += measured(work, way)
    seconds = {way: median(each) for way, each in took.items()}
    parameters = sum(each.numel() for each in build_decoder(spec, device="meta").parameters())
    report = {
        "parameters": parameters,
        "tokens_per_process": asked.tokens,
        "step_s": seconds,
        "steps_s": took,
        "efficiency": {
            way: {"of_two_apart": seconds["apart"] / seconds[way],
                  "of_one_alone": seconds["alone"] / seconds[way]}
            for way in ("replicated", "sharded")
        },
    }  # fmt: skip
    if asked.json != "-":
        print("\n".join(shown(report)))
    if asked.json is not None:
        from benchmarks import pages
        from benchmarks.machine import describe

        device, versions = describe("cpu")
        pages.write({"device": device, "versions": versions, **report}, asked.json, "scaling")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
