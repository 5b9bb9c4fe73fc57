"""A job of ``benchmarks.jobs`` as limite does it: a stage ``rl`` of a run, which takes turns.

The stage is as ``limite run`` runs it, with what it records at every step. Its settings are their
defaults but for what the job says; where a response ends, and what it earns, is the job's plan.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.jobs import ALPHABET, JOBS, Job, question, reward, tiny
from benchmarks.turns import Turns

turns = Turns()

from limite.core.cli.importing import importing  # noqa: E402

with importing():  # as `limite run` does
    import attrs
    import tomli_w
    import torch
    from torch import Tensor

    import limite.core.recipe.runners.rl  # noqa: F401
    import limite.core.rollout.sampler as sampling
    from limite.core.discover import load_registry
    from limite.core.hookspecs import Registrar
    from limite.core.kernels.layout import Layout
    from limite.core.kinds import LoggerContext
    from limite.core.recipe.engine import start
    from limite.core.types import Answer, Problem, Response, Verdict

STEPS = 10_000


class Plan:
    """The job of this process, and how far its step has come."""

    job: Job
    row = 0


class Planned:
    """A decoder whose rows end where a plan says, whatever the weights would do."""

    def __init__(self, decoder: Any, job: Job, eos: int) -> None:
        self.decoder, self.eos = decoder, eos
        self.spec, self.device = decoder.spec, decoder.device
        self.lengths = torch.tensor(job.lengths) if job.lengths else None
        self.ends = self.lengths  # [R] of the rows at hand
        self.position = 0

    def new_cache(self, rows: int, capacity_tokens: int) -> PlannedCache:
        return PlannedCache(self, self.decoder.new_cache(rows, capacity_tokens))

    def extend(self, tokens: Tensor, layout: Layout, cache: PlannedCache) -> Tensor:
        found: Tensor = self.decoder.extend(tokens, layout, cache.cache)
        return found

    def step(self, tokens: Tensor, cache: PlannedCache) -> Tensor:
        self.position += 1
        found: Tensor = self.decoder.step(tokens, cache.cache)
        return found

    def logits(self, hidden: Tensor) -> Tensor:
        found: Tensor = self.decoder.logits(hidden)
        if self.ends is None:
            found.select(1, self.eos).fill_(-1e4)
        else:
            found[:, self.eos] = torch.where(self.ends == self.position + 1, 1e4, -1e4)
        return found


class PlannedCache:
    """Remembers which rows of the plan are in the batch."""

    def __init__(self, planned: Planned, cache: Any, rows: Tensor | None = None) -> None:
        self.planned, self.cache, self.rows = planned, cache, rows

    def select(self, index: Tensor) -> PlannedCache:
        planned, rows = self.planned, None
        if planned.lengths is not None:
            # The first selection repeats prompts: a row for each response, in order, then filling.
            every = torch.arange(len(index)) % len(planned.lengths)
            rows = every if self.rows is None else self.rows[index]
            planned.ends = planned.lengths[rows]
        return PlannedCache(planned, self.cache.select(index), rows)


class PlannedSampler(sampling.Sampler):
    """The sampler, of rows that end by plan."""

    def __init__(self, decoder: Any, tokenizer: Any, **settings: Any) -> None:
        planned: Any = Planned(decoder, Plan.job, tokenizer.eos_id)
        super().__init__(planned, tokenizer, **settings)


@attrs.frozen(kw_only=True)
class Questions:
    """Texts of which nothing is asked."""

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        del difficulty
        # Behind them comes the end of the line; the tokenizer of characters begins with a token.
        own = 1 if Plan.job.pretrained else 2
        text = question(Plan.job, rng, Plan.job.prompt_tokens - own)
        return Problem(problem=text, answer=Answer(type="integer", value="1"))

    def check(self, problem: Problem) -> bool:
        del problem
        return True


@attrs.frozen(kw_only=True)
class PlannedReward:
    """What the job says, by the order of the rows."""

    def __call__(self, problem: Problem, response: Response, verdict: Verdict, /) -> float | None:
        del problem, response, verdict
        row, Plan.row = Plan.row, Plan.row + 1
        return reward(Plan.job, row, turns.asked.get("flat", 0))


@attrs.frozen(kw_only=True)
class TakeTurns:
    """The end of a step is the end of a turn."""

    def build(self, context: LoggerContext) -> TakeTurns:
        del context
        return self

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        del step
        Plan.row = 0
        told = {name: metrics[name] for name in ("time/rollout_s", "time/learner_s")}
        turns.done(updates=metrics["optim/updates"], loss=metrics.get("loss"), **told)

    def close(self) -> None: ...


def recipe_of(job: Job, directory: str) -> dict[str, Any]:
    """The run, as its file says it."""
    stage = {
        "type": "rl",
        "problems": {"sources": {"questions": 1}},
        "steps": STEPS,
        "groups": job.groups,
        "rollouts": job.rollouts,
        "off_policy_updates": job.updates - 1,
        "max_tokens": job.most_tokens,
        "objective": "dapo",
        "advantage": {"type": "group", "scale": "std"},
        "reward": "planned",
        "curriculum": "uniform",
        "optimizer": {"type": "adamw", "lr": 1e-6},
        "lr_schedule": "constant",
        "checkpoint_every": STEPS,
        "stop_after_flat_batches": STEPS,
    }
    found: dict[str, Any] = {
        "name": "job",
        "model": directory,
        "stages": {"rl": stage},
        "loggers": ["jsonl", "take-turns"],
    }
    if job.pretrained:
        found["tokenizer"] = {"type": "pretrained", "path": directory, "chat": False}
    else:
        found["tokenizer"] = {"type": "characters", "alphabet": ALPHABET}
    return found


def register() -> None:
    """The components of the job, beside limite's own."""
    registrar = Registrar()
    registrar.generator("questions", Questions)
    registrar.reward("planned", PlannedReward)
    registrar.logger("take-turns", TakeTurns)
    load_registry().add(registrar.registrations, distribution="benchmarks", version="0")


def main(arguments: Sequence[str]) -> None:
    name, directory, small = arguments
    Plan.job = tiny(JOBS[name]) if small == "tiny" else JOBS[name]
    turns.imported()
    register()
    sampling.Sampler = PlannedSampler  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.toml"
        path.write_text(tomli_w.dumps(recipe_of(Plan.job, directory)), encoding="utf-8")
        start(path, out=Path(folder) / "runs", echo=lambda text: None)


if __name__ == "__main__":
    main(sys.argv[1:])
