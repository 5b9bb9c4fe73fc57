"""One update by reinforcement, made in the ways that ``benchmarks.updates`` compares."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import attrs
import torch
from torch import Tensor

from benchmarks.jobs import LONGEST_TOKENS, heavy_tailed
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.spec import ModelSpec
from limite.core.recipe.ranks.ranks import OneRank
from limite.core.recipe.runners.learner import Learner, ScoredRow
from limite.core.recipe.runners.stepper import Stepper
from limite.core.recipe.stages import RL, Mix
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Request
from limite.core.seeds import Seeds
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.accumulate import microbatches
from limite.core.train.columns import token_batch
from limite.core.train.replay import Row, pad_rows
from limite.core.types import Answer, Problem, Response, Totals
from limite.plugins.objectives.dppo import DPPO
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.schedules.constant import Constant

TOKENIZER = CharacterTokenizer()
ROUNDS = 3
MICROBATCH_TOKENS = 8192


@attrs.frozen(kw_only=True)
class Job:
    """What is sampled and learned from. ``flat`` groups have no contrast."""

    name: str
    groups: int
    rollouts: int
    prompt_tokens: int
    flat: int
    width: int = 192
    lengths: tuple[int, ...]  # of every response, group after group

    @property
    def spec(self) -> ModelSpec:
        return ModelSpec(
            width=self.width,
            layers=4,
            heads=6,
            kv_heads=2,
            head_width=32,
            mlp_width=512,
            vocabulary=64,
            context=1024,
        )


def jobs(*, tiny: bool) -> Iterator[Job]:
    """The workload, at two shares of flat groups, as whole groups are flat or not."""
    groups, rollouts, longest = (2, 4, 20) if tiny else (8, 8, LONGEST_TOKENS)
    for flat in (1,) if tiny else (5, 6):
        yield Job(
            name=f"{flat} of {groups} groups flat",
            groups=groups,
            rollouts=rollouts,
            prompt_tokens=24,
            flat=flat,
            lengths=heavy_tailed(groups * rollouts, longest),
            width=32 if tiny else 192,
        )


def long_prompts(*, tiny: bool) -> Job:
    groups, rollouts, prompt = (2, 4, 60) if tiny else (8, 8, 512)
    return Job(
        name=f"{groups} prompts of {prompt} tokens",
        groups=groups,
        rollouts=rollouts,
        prompt_tokens=prompt,
        flat=0,
        lengths=(6 if tiny else 32,) * (groups * rollouts),
        width=32 if tiny else 192,
    )


class Planned:
    """A decoder whose rows end where a plan says, whatever the weights would do."""

    def __init__(self, decoder: Decoder, lengths: Sequence[int]) -> None:
        self.decoder, self.lengths = decoder, torch.tensor(lengths)
        self.spec, self.device = decoder.spec, decoder.device
        self.ends = self.lengths  # [R] of the rows at hand
        self.position = 0

    def new_cache(self, rows: int, capacity_tokens: int) -> PlannedCache:
        return PlannedCache(self, self.decoder.new_cache(rows, capacity_tokens))

    def extend(self, tokens: Tensor, layout: Layout, cache: PlannedCache) -> Tensor:
        return self.decoder.extend(tokens, layout, cache.cache)

    def step(self, tokens: Tensor, cache: PlannedCache) -> Tensor:
        self.position += 1
        return self.decoder.step(tokens, cache.cache)

    def logits(self, hidden: Tensor) -> Tensor:
        found = self.decoder.logits(hidden)
        found[:, TOKENIZER.eos_id] = torch.where(self.ends == self.position + 1, 1e4, -1e4)
        return found


class PlannedCache:
    """Remembers which rows of the plan are in the batch."""

    def __init__(self, planned: Planned, cache: Any, rows: Tensor | None = None) -> None:
        self.planned, self.cache, self.rows = planned, cache, rows

    def select(self, index: Tensor) -> PlannedCache:
        planned = self.planned
        # The first selection repeats prompts: a row for each response, in order, then filling.
        every = torch.arange(len(index)) % len(planned.lengths)
        rows = every if self.rows is None else self.rows[index]
        planned.ends = planned.lengths[rows]
        return PlannedCache(planned, self.cache.select(index), rows)


def requests_of(job: Job, *, alike: bool = True) -> list[Request]:
    """Every response of the job; where prompts are not ``alike`` none is shared."""
    stream = random.Random(3)
    found = []
    for group in range(job.groups):
        problem = Problem(problem=f"{group}?", answer=Answer(type="integer", value="1"))
        prompt = [stream.randrange(3, TOKENIZER.vocabulary) for _ in range(job.prompt_tokens)]
        for index in range(job.rollouts):
            own = prompt if alike else [3 + index, *prompt[1:]]
            found.append(
                Request(
                    problem=problem,
                    sample_index=index,
                    prompt_ids=tuple(own),
                    budget_tokens=max(job.lengths),
                )
            )
    return found


def sampled(
    decoder: Decoder, job: Job, *, compact_at: float = 0.25, alike: bool = True
) -> list[Response]:
    """The responses of a job, which are the same however rows leave the batch."""
    planned = Planned(decoder, job.lengths)
    sampler = Sampler(planned, TOKENIZER, seed=5, compact_at=compact_at)
    found = dict(sampler.generate(requests_of(job, alike=alike), policy_version=0))
    responses = [found[index] for index in range(len(job.lengths))]
    assert [len(each.completion_ids) for each in responses] == list(job.lengths)
    return responses


def scored(job: Job, responses: Sequence[Response]) -> list[ScoredRow]:
    """Half of the responses of every group with contrast earn 1, all others 0."""
    rows = []
    for place, response in enumerate(responses):
        group, index = divmod(place, job.rollouts)
        advantage = 0.0 if group < job.flat else (0.5 if index % 2 else -0.5)
        length = len(response.completion_ids)
        rows.append(
            ScoredRow(
                row=Row(prompt=response.prompt_ids, completion=response.completion_ids),
                behavior_logp=response.logprobs,
                advantage=[advantage] * length,
                group=group,
            )
        )
    return rows


class Contender:
    """A policy with its optimizer, and one whole update of it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.decoder = build_decoder(job.spec.filled(), Seeds(1))
        self.stepper = Stepper(
            module=self.decoder,
            settings=AdamW(lr=1e-7),  # which leaves every round the same
            lr_schedule=Constant(),
            total_updates=10**6,
            clip_norm=1.0,
        )
        self.loss = self.norm = 0.0
        self.taken: dict[str, float] = {}

    def timed(self, part: str, call: Callable[[], Any]) -> Any:
        started = time.process_time()
        found = call()
        self.taken[part] = time.process_time() - started
        return found

    def step(self, loss: float) -> dict[str, float]:
        self.loss = loss
        _, self.norm, _ = self.stepper.update(loss, 0, where="the benchmark")
        return {}

    def update(self) -> dict[str, float]:
        """Seconds of each part."""
        self.taken = {}
        responses = self.timed("sample", self.sample)
        rows = scored(self.job, responses)
        self.timed("weigh", lambda: self.weigh(rows))
        self.timed("learn", lambda: self.learn(rows))
        return dict(self.taken)

    def sample(self) -> list[Response]:
        raise NotImplementedError

    def weigh(self, rows: Sequence[ScoredRow]) -> float | None:
        """The effective sample fraction of the batch, before it is learned from."""
        raise NotImplementedError

    def learn(self, rows: Sequence[ScoredRow]) -> None:
        raise NotImplementedError


class Limite(Contender):
    """As the stage ``rl`` does it."""

    def __init__(self, job: Job, *, share_prompts: bool = True) -> None:
        super().__init__(job)
        session = SimpleNamespace(decoder=self.decoder, update=self.step)
        session.rounds = lambda cuts, read: map(read, cuts)
        session.clocks = SimpleNamespace(step=0)
        session.context = SimpleNamespace(place=lambda step: f"update {step}", ranks=OneRank())
        stage = RL(
            problems=Mix({"gcd": 1.0}),
            objective=DPPO(),
            microbatch_tokens=MICROBATCH_TOKENS,
            share_prompts=share_prompts,
        )
        made: Any = session
        self.learner = Learner(
            session=made, stage=stage, objective=DPPO(), response_tokens=max(job.lengths)
        )

    def sample(self) -> list[Response]:
        return sampled(self.decoder, self.job)

    def weigh(self, rows: Sequence[ScoredRow]) -> float | None:
        before = self.learner.before_updates(rows)
        return self.learner.measure(before).effective_sample_fraction

    def learn(self, rows: Sequence[ScoredRow]) -> None:
        self.learner.learn(rows, Seeds(9))


class Apart(Limite):
    """As limite, but that every response has its own copy of the prompt."""

    def __init__(self, job: Job) -> None:
        super().__init__(job, share_prompts=False)
        self.responses = sampled(self.decoder, job)

    def sample(self) -> list[Response]:
        """Reads prompts of which no two are the same; what is learned from is the same as ever."""
        sampled(self.decoder, self.job, alike=False)
        return self.responses


class Naive(Contender):
    """Rows stay until the last has ended, are padded to the longest, and all learned from."""

    def sample(self) -> list[Response]:
        return sampled(self.decoder, self.job, compact_at=2.0)

    def parts(self, rows: Sequence[ScoredRow]) -> Iterator[tuple[Sequence[ScoredRow], Tensor]]:
        """Micro-batches, and their log-probabilities ``[b, T]``; ``T`` is that of all rows."""
        width = max(len(row.row.completion) for row in rows)
        length = self.job.prompt_tokens + width
        for part in microbatches([length] * len(rows), MICROBATCH_TOKENS):
            picked = [rows[index] for index in part]
            texts = [[*row.row.prompt, *row.row.completion] for row in picked]
            tokens = torch.tensor([text + [0] * (length - len(text)) for text in texts])
            layout = Layout.from_lengths([length] * len(picked))
            hidden = self.decoder(tokens.flatten(), layout).unflatten(0, tokens.shape)
            before = hidden[:, self.job.prompt_tokens - 1 : -1].flatten(0, 1)
            targets = tokens[:, self.job.prompt_tokens :].flatten()
            logp, _ = self.decoder.log_probabilities(before, targets)
            yield picked, logp.unflatten(0, (len(picked), width))

    def mask(self, rows: Sequence[ScoredRow], width: int) -> Tensor:
        counts = torch.tensor([len(row.row.completion) for row in rows])
        return torch.arange(width) < counts[:, None]

    @torch.no_grad()
    def weigh(self, rows: Sequence[ScoredRow]) -> float | None:
        weights = []
        for picked, logp in self.parts(rows):
            behavior = pad_rows([row.behavior_logp for row in picked], logp.shape[1], logp.dtype)
            weights.append((logp - behavior).double().exp()[self.mask(picked, logp.shape[1])])
        w = torch.cat(weights)
        return float(w.sum() ** 2 / (len(w) * w.square().sum()))

    def learn(self, rows: Sequence[ScoredRow]) -> None:
        totals = Totals(
            tokens=sum(self.job.lengths),
            active_rows=len(rows),
            rows=len(rows),
            response_tokens=max(self.job.lengths),
        )
        objective, total = DPPO(), 0.0
        for picked, logp in self.parts(rows):
            width = logp.shape[1]
            columns = {
                "logp": logp,
                "behavior_logp": pad_rows([r.behavior_logp for r in picked], width, torch.float32),
                "advantage": pad_rows([r.advantage for r in picked], width, torch.float64),
            }
            loss = objective(token_batch(self.mask(picked, width), columns, totals)).value
            loss.backward()
            total += float(loss.detach())
        self.step(total)
