"""Samples responses: prompts are read once, all rows step together, finished rows leave.

What a row samples depends on the weights, its prompt and budget, and the counter-based stream of
its (seed, problem, sample index), bit for bit: not on the slot it sits in, the rows beside it, or
when rows are removed. Three things make it so.

* One uniform per row and position inverts the running sum of the row's own probabilities.
* Attention sums what a row sees in an order that follows from the row's own length and the
  capacity of the cache; and the capacity follows from the row's own prompt and budget, because
  requests of different capacity are sampled in different waves.
* Rows, and tokens of prompts, always come in whole multiples of ``ROWS`` (copies fill them up), or
  of fewer where ``limite.core.rollout.fewer_rows`` finds that they do. Vectorised operators treat
  the last few elements of a tensor by other code than the rest, and matrix products of few rows
  use other kernels: both round differently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from limite.core.errors import LimiteError, RunFailed
from limite.core.kernels.layout import Layout
from limite.core.rollout.budget import check_response
from limite.core.rollout.drawing import Drawing, Drawn
from limite.core.rollout.fewer_rows import ROWS
from limite.core.rollout.graphs import StepGraphs
from limite.core.rollout.repetition import RepetitionDetector, Texts
from limite.core.rollout.steps import PlainSteps, StepDecoder, Steps
from limite.core.rollout.uniforms import row_keys, uniforms
from limite.core.rollout_kinds import Request
from limite.core.tokenizer import Tokenizer
from limite.core.types import FinishReason, Response

SLOTS = 1024  # rows at once, at most
CAPACITY = 64  # tokens, the least
UNIFORM_BLOCK = 64  # positions drawn ahead
NEVER = np.iinfo(np.int64).max
LIKELIEST = 1e-6
"""The temperature at which the likeliest token is as good as certain."""


class Sampler:
    """Draws responses from a decoder at a temperature, up to ``slots`` rows at a time.

    ``seed`` names the stream of the batch: the same seed, problem and sample index give the same
    response. Recorded log-probabilities are of the distribution sampled from: the temperature
    applied, over every column of the head. Ids that are no token keep their mass there but are
    never drawn: those from ``forbid_from`` on, which only pad the head (None: all that are not the
    tokenizer's), and those that the tokenizer leaves unused. Finished rows are removed when they
    make up the share ``compact_at`` of the batch. With ``listed_tokens`` the likeliest tokens of
    every position are recorded with it, the drawn one in place of the last where it is not among
    them. With a ``detector`` a response that repeats itself ends where that is found. A prompt is
    read once for all its rows; without ``prefill_once`` again for each, to the same result. With
    ``graphs`` steps are captured and played again, to the same result too. ``multiple`` is what
    rows come in multiples of, up to 64 of them; only one that keeps every bit may be set (see
    ``fewer_rows``). More rows come in multiples of 32, since each number of them is recorded, or
    captured, by itself.
    """

    multiple: int = ROWS

    def __init__(
        self,
        decoder: StepDecoder,
        tokenizer: Tokenizer,
        *,
        seed: int,
        eos_ids: Collection[int] | None = None,
        temperature: float = 1.0,
        slots: int = SLOTS,
        forbid_from: int | None = None,
        compact_at: float = 0.25,
        listed_tokens: int | None = None,
        detector: RepetitionDetector | None = None,
        prefill_once: bool = True,
        top_p: float | None = None,
        graphs: StepGraphs | None = None,
    ) -> None:
        if not temperature > 0:
            raise LimiteError(f"temperature must be above 0, got {temperature}")
        if slots < 1:
            raise LimiteError(f"slots must be at least 1, got {slots}")
        self.decoder = decoder
        self.tokenizer = tokenizer
        self.seed = seed
        self.eos_ids = frozenset(tokenizer.eos_ids if eos_ids is None else eos_ids)
        if not self.eos_ids:
            raise LimiteError("the set of end-of-sequence ids is empty; no response could end")
        self.slots = slots
        self.compact_at = compact_at
        self.detector = detector
        self.prefill_once = prefill_once
        self.device = decoder.device
        self.drawing = Drawing(
            temperature=temperature,
            top_p=top_p,
            forbid_from=tokenizer.vocabulary if forbid_from is None else forbid_from,
            unused_ids=tuple(tokenizer.unused_ids),
            listed_tokens=listed_tokens,
            device=self.device,
        )
        self.graphs = graphs

    def steps(self, cache: Any, rows: Tensor, policy_version: int) -> Steps:
        """The steps of the given rows of ``cache``, in that order."""
        if self.graphs is None:
            return PlainSteps(self.decoder, self.drawing, cache.select(rows))
        return self.graphs.steps(self.decoder, self.drawing, cache, rows, policy_version)

    def spare(self, count: int) -> int:
        """How many copies fill up so many rows, or tokens of prompts."""
        return -count % (self.multiple if count <= 2 * ROWS else ROWS)

    def generate(
        self, requests: Iterable[Request], policy_version: int
    ) -> Iterator[tuple[int, Response]]:
        """A response for each request, with the request's index, in order of completion.

        A list is sampled as a whole, in waves of like sizes. Of anything else as many as there are
        slots are taken at a time, and more only when all of those have ended.
        """
        try:
            if isinstance(requests, Sequence):
                yield from self._together(requests, policy_version)
                return
            before, coming = 0, iter(requests)
            while taken := list(islice(coming, self.slots)):
                for index, response in self._together(taken, policy_version):
                    yield before + index, response
                before += len(taken)
        finally:
            if self.graphs is not None:
                self.graphs.rest()

    def _together(
        self, requests: Sequence[Request], policy_version: int
    ) -> Iterator[tuple[int, Response]]:
        context = self.decoder.spec.context
        by_capacity: dict[int, list[int]] = {}
        for index, request in enumerate(requests):
            by_capacity.setdefault(capacity_tokens(request, context), []).append(index)
        for capacity, indexes in by_capacity.items():
            # Waves of equal size rather than full ones and a small rest.
            size = -(-len(indexes) // -(-len(indexes) // self.slots))
            for first in range(0, len(indexes), size):
                chosen = {index: requests[index] for index in indexes[first : first + size]}
                wave = _Wave(self, chosen, capacity, policy_version)
                while wave.rows:
                    yield from wave.advance()


def capacity_tokens(request: Request, context: int) -> int:
    """The cache a request gets: 64, 128, 256, ... tokens, but no more than the context."""
    needed = len(request.prompt_ids) + request.budget_tokens
    return min(max(CAPACITY, 1 << (needed - 1).bit_length()), max(context, needed))


class _Wave:
    """Rows that started together: position t of every row is sampled in the same step.

    Columns that belong to no request are copies of another and count as finished.
    """

    @torch.inference_mode()
    def __init__(
        self, sampler: Sampler, requests: dict[int, Request], capacity: int, policy_version: int
    ) -> None:
        self.sampler = sampler
        self.requests = requests
        self.capacity = capacity  # tokens
        self.policy_version = policy_version
        self.position = 0
        chosen = list(requests.values())
        # Requests of one group share their problem; its id is a hash worth taking once.
        problems = {id(request.problem): request.problem for request in chosen}
        ids = {key: problem.id for key, problem in problems.items()}
        self.problem_ids = {i: ids[id(request.problem)] for i, request in requests.items()}
        self.keys = row_keys(
            sampler.seed, ((ids[id(each.problem)], each.sample_index) for each in chosen)
        )  # [R]
        self.owners = np.array(list(requests))  # [R] the request of each column, or -1
        self.budgets = np.array([request.budget_tokens for request in chosen])  # [R] tokens
        self.prompts = np.array([len(request.prompt_ids) for request in chosen])  # [R] tokens
        shape = (int(self.budgets.max()), len(chosen))
        self.tokens = torch.zeros(shape, dtype=torch.int64, device=sampler.device)  # [T, R]
        self.logprobs = torch.zeros(shape, device=sampler.device)  # [T, R] nats
        self.lists: list[tuple[Tensor, Tensor]] = []  # of each position: ids and nats, [R, K]
        self.eos = torch.tensor(sorted(sampler.eos_ids), device=sampler.device)
        self.stopped_at = np.full(len(chosen), NEVER)  # [R] tokens, where it repeats itself
        self.texts = None if sampler.detector is None else Texts(sampler.detector, len(chosen))
        kept = self._keep(np.arange(len(chosen)))
        self._prefill([chosen[column].prompt_ids for column in kept])

    @property
    def rows(self) -> int:
        """Rows in the batch; 0 when every response has been handed out."""
        return len(self.owners)

    def _keep(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keeps these columns, filled up with copies of the first; which ones in the end."""
        copies = np.repeat(columns[:1], self.sampler.spare(len(columns)))
        kept = np.concatenate([columns, copies])
        self.owners, self.keys = self.owners[kept], self.keys[kept]
        self.owners[len(columns) :] = -1
        self.budgets, self.prompts = self.budgets[kept], self.prompts[kept]
        self.stopped_at = self.stopped_at[kept]
        if self.texts is not None:
            self.texts.select(kept.tolist())
        device = self.sampler.device
        there = torch.from_numpy(kept).to(device)
        self.tokens = self.tokens.index_select(1, there)
        self.logprobs = self.logprobs.index_select(1, there)
        self.lists = [(ids[there], nats[there]) for ids, nats in self.lists]
        self.done = torch.from_numpy(self.owners < 0).to(device)  # [R]
        self.row_budgets = torch.from_numpy(self.budgets).to(device)  # [R] tokens
        self.row_ends = set(self.budgets.tolist())
        self.longest_prompt = int(self.prompts.max())
        self._draw_ahead()
        return kept

    def _draw_ahead(self) -> None:
        block = uniforms(self.keys, self.position, UNIFORM_BLOCK)  # [R, block]
        by_step = torch.from_numpy(np.ascontiguousarray(block.T)).to(self.sampler.device)
        self.uniforms = by_step[:, :, None].unbind()  # block times [R, 1]
        self.drawn_from = self.position

    def _prefill(self, prompts: Sequence[tuple[int, ...]]) -> None:
        """Reads each distinct prompt once and copies its cache to the rows that share it."""
        once = self.sampler.prefill_once
        keys = [(prompt, 0 if once else row) for row, prompt in enumerate(prompts)]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        distinct = [prompt for prompt, _ in places]
        while spare := self.sampler.spare(sum(map(len, distinct))):
            distinct.append((self.sampler.tokenizer.pad_id,) * min(spare, self.capacity))
        device, decoder = self.sampler.device, self.sampler.decoder
        layout = Layout.from_lengths([len(prompt) for prompt in distinct], device)
        tokens = torch.tensor([token for prompt in distinct for token in prompt], device=device)
        cache = decoder.new_cache(len(distinct), self.capacity)
        hidden = decoder.extend(tokens, layout, cache)  # [N, width]
        last = torch.tensor(layout.lengths, device=device).cumsum(0) - 1
        rows = torch.tensor([places[key] for key in keys], device=device)  # [R]
        self.hidden = hidden[last[rows]]  # [R, width]
        self.steps = self.sampler.steps(cache, rows, self.policy_version)

    @torch.inference_mode()
    def advance(self) -> list[tuple[int, Response]]:
        """Samples positions until rows are worth removing, and returns the finished ones."""
        only_eos = int(self.eos[0]) if len(self.eos) == 1 else None
        while True:
            token, logprob, *_ = self._sample()  # [R], [R]
            self.tokens[self.position] = token
            self.logprobs[self.position] = logprob
            self.position += 1
            self.done |= token == only_eos if only_eos is not None else torch.isin(token, self.eos)
            if self.position in self.row_ends:
                self.done |= self.row_budgets <= self.position
            if self.texts is not None and self.texts.detector.due(self.position):
                self._stop_repetitions(self.texts)
            finished = int(self.done.sum())
            if finished == self.rows:
                responses = self._responses(np.flatnonzero(self.owners >= 0))
                self.owners = self.owners[:0]
                self.steps.close()
                return responses
            if self._worth_removing(finished):
                return self._remove_finished()

    def _stop_repetitions(self, texts: Texts) -> None:
        """Ends the rows that go on and repeat themselves."""
        going_on = np.flatnonzero(~self.done.cpu().numpy())
        tokens = self.tokens[: self.position].cpu().numpy()
        found = texts.repetitive(
            {row: tokens[:, row].tolist() for row in going_on.tolist()},
            self.sampler.tokenizer.decode,
        )
        self.stopped_at[found] = self.position
        self.done[torch.tensor(found, dtype=torch.int64, device=self.sampler.device)] = True

    def _worth_removing(self, finished: int) -> bool:
        if finished >= max(self.sampler.multiple, self.sampler.compact_at * self.rows):
            return True
        # A finished row must not step over the end of its cache.
        return finished > 0 and self.longest_prompt + self.position > self.capacity

    def _sample(self) -> Drawn:
        """The next token of every row."""
        if self.position - self.drawn_from >= UNIFORM_BLOCK:
            self._draw_ahead()
        uniform = self.uniforms[self.position - self.drawn_from]  # [R, 1]
        if self.position:
            drawn = self.steps.next(self.tokens[self.position - 1], uniform)
        else:
            drawn = self.sampler.drawing(self.sampler.decoder.logits(self.hidden), uniform)
            del self.hidden
        if drawn.ids is not None and drawn.nats is not None:
            self.lists.append((drawn.ids, drawn.nats))
        return drawn

    def _remove_finished(self) -> list[tuple[int, Response]]:
        """Hands out finished rows and keeps the others."""
        done = self.done.cpu().numpy()
        responses = self._responses(np.flatnonzero(done & (self.owners >= 0)))
        kept = self._keep(np.flatnonzero(~done))
        self.steps = self.steps.select(torch.from_numpy(kept).to(self.sampler.device))
        return responses

    def _responses(self, columns: NDArray[np.int64]) -> list[tuple[int, Response]]:
        """Finished rows as records, cut after their first end token or at their budget."""
        where = torch.from_numpy(columns).to(self.sampler.device)
        tokens = self.tokens[: self.position].index_select(1, where).T.cpu().numpy()  # [F, T]
        logprobs = self.logprobs[: self.position].index_select(1, where).T.cpu().numpy()
        lists = [(ids[where].cpu(), nats[where].cpu()) for ids, nats in self.lists]
        ends = np.isin(tokens, list(self.sampler.eos_ids))
        # A finished row steps along until it is removed; what it drew meanwhile is cut off.
        ended_at = np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, NEVER)
        stopped_at = self.stopped_at[columns]
        lengths = np.minimum(np.minimum(ended_at, stopped_at), self.budgets[columns])
        natural = ended_at == lengths
        repeats = (stopped_at == lengths) & ~natural
        if not np.isfinite(logprobs[np.arange(len(columns)), lengths - 1]).all():
            raise RunFailed(
                "the model gives probabilities that are not finite; "
                "lower the learning rate of the stage before"
            )
        out = []
        for row, index in enumerate(self.owners[columns].tolist()):
            request = self.requests[index]
            length, by_itself = int(lengths[row]), bool(natural[row])
            unnatural: FinishReason = "repetition" if repeats[row] else "length"
            completion = tuple(tokens[row, :length].tolist())
            response = Response(
                problem_id=self.problem_ids[index],
                sample_index=request.sample_index,
                prompt_ids=request.prompt_ids,
                completion_ids=completion,
                logprobs=tuple(logprobs[row, :length].tolist()),
                finish_reason="eos" if by_itself else unnatural,
                completion_budget=request.budget_tokens,
                policy_version=self.policy_version,
                text=self.sampler.tokenizer.decode(completion[: length - by_itself]),
                topk_ids=tuple(tuple(ids[row].tolist()) for ids, _ in lists[:length]),
                topk_logprobs=tuple(tuple(nats[row].tolist()) for _, nats in lists[:length]),
            )
            check_response(response, eos_ids=self.sampler.eos_ids)
            out.append((index, response))
        return out
