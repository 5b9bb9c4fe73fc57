"""The steps of a batch of rows: a token for each goes in, the next one of each comes out."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.core.model.settings import DecoderSpec
from limite.core.rollout.drawing import Drawing, Drawn


class Cache(Protocol):
    """Keys and values of the rows in a batch."""

    def select(self, row_indexes: Tensor) -> Cache:
        """A cache of the given rows, in that order; a row may be taken more than once."""
        ...


class StepDecoder(Protocol):
    """What the sampler asks of a model; ``limite.core.model.decoder`` says what it means."""

    @property
    def spec(self) -> DecoderSpec: ...

    @property
    def device(self) -> torch.device: ...

    def new_cache(self, rows: int, capacity_tokens: int) -> Any: ...

    def extend(self, tokens: Tensor, layout: Layout, cache: Any) -> Tensor: ...

    def step(self, tokens: Tensor, cache: Any) -> Tensor: ...

    def logits(self, hidden: Tensor) -> Tensor: ...


class Steps(Protocol):
    """Rows whose prompts were read. What comes out is the caller's to keep."""

    def next(self, token: Tensor, uniform: Tensor) -> Drawn:
        """What follows ``token [R]``; ``uniform [R, 1]`` decides."""
        ...

    def select(self, rows: Tensor) -> Steps:
        """The given rows go on, in that order. These steps are over."""
        ...

    def close(self) -> None:
        """No step is asked for any more."""
        ...


class PlainSteps:
    """Operation after operation."""

    def __init__(self, decoder: StepDecoder, drawing: Drawing, cache: Cache) -> None:
        self._decoder, self._drawing, self._cache = decoder, drawing, cache

    def next(self, token: Tensor, uniform: Tensor) -> Drawn:
        hidden = self._decoder.step(token, self._cache)  # [R, width]
        return self._drawing(self._decoder.logits(hidden), uniform)

    def select(self, rows: Tensor) -> Steps:
        return PlainSteps(self._decoder, self._drawing, self._cache.select(rows))

    def close(self) -> None: ...
