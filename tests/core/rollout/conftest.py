"""A decoder small enough to be obvious, and as touchy about its batch as a real one may be."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
import torch
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.core.rollout_kinds import Request
from limite.core.tokenizer import CharacterTokenizer
from limite.core.types import Answer, Problem

STATE = 6


@attrs.define(eq=False)
class FakeCache:
    """A running state per row, and its length."""

    states: Tensor  # [R, S]
    lengths: Tensor  # [R]
    capacity: int

    def select(self, row_indexes: Tensor) -> FakeCache:
        return FakeCache(self.states[row_indexes], self.lengths[row_indexes], self.capacity)


@attrs.define(eq=False)
class FakeDecoder:
    """Folds tokens into a state. Where a real one might round differently it changes a lot.

    Results depend on the capacity, and on whether rows, and tokens of prompts, come in multiples of
    32: a sampler that lets these follow from the company a row keeps is found out.
    """

    vocabulary: int
    spec: Any = attrs.field(factory=lambda: SimpleNamespace(context=83))
    device: torch.device = attrs.field(factory=lambda: torch.device("cpu"))
    steps: list[int] = attrs.field(factory=list)
    prefilled: list[int] = attrs.field(factory=list)
    table: Tensor = attrs.field(init=False)  # [V, S]
    bias: Tensor = attrs.field(init=False)  # [V]

    def __attrs_post_init__(self) -> None:
        generator = torch.Generator().manual_seed(3)
        self.table = torch.randn(self.vocabulary, STATE, generator=generator)
        self.bias = torch.zeros(self.vocabulary)
        self.bias[2] = 0.7  # so that responses end after a few tokens

    def new_cache(self, rows: int, capacity_tokens: int) -> FakeCache:
        assert capacity_tokens <= self.spec.context
        return FakeCache(
            torch.zeros(rows, STATE), torch.zeros(rows, dtype=torch.int64), capacity_tokens
        )

    def _mood(self, count: int, cache: FakeCache) -> float:
        assert int(cache.lengths.max()) <= cache.capacity
        return float(count % 32 > 0) + 0.01 * (cache.capacity - 64)

    def extend(self, tokens: Tensor, layout: Layout, cache: FakeCache) -> Tensor:
        self.prefilled.append(layout.rows)
        cache.lengths += layout.lengths_tensor
        mood = self._mood(len(tokens), cache)
        hidden = []
        for row, part in enumerate(tokens.split(list(layout.lengths))):
            for token in part:
                state = torch.tanh(0.7 * cache.states[row] + self.table[token])
                cache.states[row] = state
                hidden.append(state + mood)
        return torch.stack(hidden)

    def step(self, tokens: Tensor, cache: FakeCache) -> Tensor:
        self.steps.append(len(tokens))
        cache.lengths += 1
        cache.states = torch.tanh(0.7 * cache.states + self.table[tokens])
        return cache.states + self._mood(len(tokens), cache)

    def logits(self, hidden: Tensor) -> Tensor:
        # Sums in a fixed order, so that a row's bits are its own.
        logits = sum(torch.sin(hidden[:, i, None]) * self.table[:, i] for i in range(STATE))
        return logits + self.bias  # type: ignore[operator]


@pytest.fixture
def tokenizer() -> CharacterTokenizer:
    return CharacterTokenizer(alphabet="01+=?#\n")


@pytest.fixture
def decoder(tokenizer: CharacterTokenizer) -> FakeDecoder:
    return FakeDecoder(tokenizer.vocabulary)


@pytest.fixture
def ask(tokenizer: CharacterTokenizer) -> Callable[..., list[Request]]:
    """Requests for some problems, ``rollouts`` each, with a budget per problem."""

    def make(texts: list[str], rollouts: int = 1, budgets: int | list[int] = 12) -> list[Request]:
        requests = []
        for at, text in enumerate(texts):
            problem = Problem(problem=text, answer=Answer(type="integer", value="1"))
            for index in range(rollouts):
                requests.append(
                    Request(
                        problem=problem,
                        sample_index=index,
                        prompt_ids=tokenizer.render_prompt(problem),
                        budget_tokens=budgets if isinstance(budgets, int) else budgets[at],
                    )
                )
        return requests

    return make
