"""A cache that stays where it is: rows are loaded into it, and steps are taken in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from limite.core.model.attention import LayerCache
from limite.core.model.cache import Cache, Taken
from limite.core.model.recorded import Steps

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder

ROWS_AT_ONCE = 32
"""Rows copied together when a cache is loaded, so that little memory is needed beside it."""


class Unrecorded(Steps):
    """Steps as they are: whoever captures them needs their every operation."""

    def take(self, decoder: Decoder, weights: Any, tokens: Tensor, cache: Cache) -> Tensor:
        return decoder._step(weights, tokens, cache)


class FixedCache(Cache):
    """For steps that are captured: whatever they read or write keeps its address.

    Its ``longest`` and ``shortest`` are what rows may have at any step, since a captured step runs
    at all of them.
    """

    def __init__(
        self,
        layers: Sequence[LayerCache],
        capacity: int,
        weights: Taken,
        lengths: Tensor,
    ) -> None:
        self.layers = list(layers)
        self.capacity = capacity  # tokens
        self.weights = weights
        self._device = lengths.device
        self.lengths = lengths  # [R]
        self._set([0] * len(lengths))

    @classmethod
    def over(cls, cache: Cache) -> FixedCache:
        """The memory of ``cache``, which is given over to it."""
        lengths = torch.zeros_like(cache.lengths)
        return cls(cache.layers, cache.capacity, cache.weights, lengths)

    def leading(self, rows: int) -> FixedCache | None:
        """The first ``rows`` rows in the same memory; None where a layer has no such view."""
        views = [layer.leading(rows) for layer in self.layers]
        layers = [view for view in views if view is not None]
        if len(layers) < len(views):
            return None
        return FixedCache(layers, self.capacity, self.weights, self.lengths[:rows])

    def _set(self, lengths: Sequence[int]) -> None:
        self.recorded = Unrecorded()
        self._noted = tuple(lengths)
        self._longest = max(lengths, default=0)
        self._shortest = min(lengths, default=0)
        self._steps = 0
        self.lengths.copy_(torch.tensor(self._noted, dtype=torch.int64))

    @property
    def bytes(self) -> int:
        """What it takes, all layers together."""
        return sum(layer.bytes for layer in self.layers)

    @property
    def longest(self) -> int:
        return self.capacity - 1

    @property
    def shortest(self) -> int:
        return 0

    def grow(self, added: Sequence[int] | None = None) -> None:
        if added is not None:
            super().grow(added)
            return
        self._steps += 1
        self.lengths.add_(1)

    def replayed(self) -> None:
        """Notes a step that was taken without ``grow`` being called."""
        self._steps += 1

    def require_room(self, added: Sequence[int] | None = None) -> None:
        """Of the rows that were loaded; a captured step cannot ask."""
        after = self._longest + self._steps + 1
        if added is not None:
            after = max(map(sum, zip(self.seen, added, strict=True)))
        assert after <= self.capacity, f"the cache holds {self.capacity} tokens a row, not {after}"

    @torch.no_grad()
    def load(self, rows: Tensor, source: Cache) -> None:
        """Takes over the given rows of ``source``, in that order, whatever was in it before."""
        assert source.capacity == self.capacity, "rows of another capacity"
        picked = rows.tolist()
        assert len(picked) == self.rows, f"{len(picked)} rows for {self.rows}"
        for first in range(0, self.rows, ROWS_AT_ONCE):
            part = rows[first : first + ROWS_AT_ONCE].to(self._device)
            places = torch.arange(first, first + len(part), device=self._device)
            for layer, other in zip(self.layers, source.layers, strict=True):
                layer.replace(places, other.select(part))
        seen = source.seen
        self._set([seen[row] for row in picked])

    def blank(self) -> None:
        """As if no row had any token; what layers hold stays and means nothing."""
        self._set([0] * self.rows)

    def places(self) -> tuple[Any, ...]:
        """Where everything lies that a step may read or write in it."""
        return (_place(self.lengths), *(each for layer in self.layers for each in _places(layer)))


def _places(thing: Any) -> Iterator[Any]:
    if isinstance(thing, Tensor):
        yield _place(thing)
    elif isinstance(thing, dict):
        for key in thing:
            yield from _places(thing[key])
    elif isinstance(thing, (list, tuple)):
        for each in thing:
            yield from _places(each)
    elif isinstance(thing, LayerCache):
        yield from _places(vars(thing))


def _place(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype
