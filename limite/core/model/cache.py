"""What a decoder remembers of the rows it continues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from limite.core.model.attention import LayerCache
from limite.core.model.recorded import Steps


class Taken:
    """A decoder's weights as its steps read them, taken when the first of them asks.

    The caches that grew from one share them, so that only who takes steps pays, and once.
    """

    def __init__(self, take: Callable[[], Any]) -> None:
        self._take: Callable[[], Any] | None = take
        self._weights: Any = None

    @torch.no_grad()
    def get(self) -> Any:
        """None where steps read the decoder's own weights."""
        if self._take is not None:
            self._weights, self._take = self._take(), None
        return self._weights


class Cache:
    """The state of ``rows`` unfinished rows: one ``LayerCache`` per layer, and their lengths.

    A cache belongs to the weights it was made with: after an update start a new one. It does not
    tell: chunks read the weights as they are, steps as they were at the first of them.
    """

    def __init__(
        self,
        layers: Sequence[LayerCache],
        lengths: Sequence[int],
        capacity: int,
        weights: Taken,
        device: torch.device,
    ) -> None:
        self.layers = list(layers)
        self.capacity = capacity  # tokens
        self.weights = weights
        self._device = device
        self._set(lengths)

    def _set(self, lengths: Sequence[int]) -> None:
        self.recorded = Steps()
        self._noted = tuple(lengths)
        self._longest = max(lengths, default=0)
        self._shortest = min(lengths, default=0)
        self._steps = 0  # tokens that every row has taken since
        self.lengths = torch.tensor(self._noted, dtype=torch.int64, device=self._device)  # [R]

    @property
    def rows(self) -> int:
        return len(self._noted)

    @property
    def longest(self) -> int:
        return self._longest + self._steps

    @property
    def shortest(self) -> int:
        return self._shortest + self._steps

    @property
    def seen(self) -> tuple[int, ...]:
        """``lengths`` on the host."""
        return tuple(length + self._steps for length in self._noted)

    def grow(self, added: Sequence[int] | None = None) -> None:
        """Notes that every row has ``added`` more tokens: one each, if not said."""
        if added is None:
            self._steps += 1
            self.lengths = self.lengths + 1
        else:
            self._set([a + b for a, b in zip(self.seen, added, strict=True)])

    def require_room(self, added: Sequence[int] | None = None) -> None:
        after = self.longest + 1
        if added is not None:
            assert len(added) == self.rows, f"{len(added)} rows for a cache of {self.rows}"
            after = max(map(sum, zip(self.seen, added, strict=True)))
        assert after <= self.capacity, f"the cache holds {self.capacity} tokens a row, not {after}"

    @torch.no_grad()
    def select(self, row_indexes: Sequence[int] | Tensor) -> Cache:
        """A cache of its own with the given rows, in that order.

        Serves for dropping finished rows, and for repeating a prompt's row once per response.
        """
        picked = row_indexes.tolist() if isinstance(row_indexes, Tensor) else list(row_indexes)
        index = torch.tensor(picked, dtype=torch.int64, device=self._device)
        seen = self.seen
        return Cache(
            [layer.select(index) for layer in self.layers],
            [seen[row] for row in picked],
            self.capacity,
            self.weights,
            self._device,
        )

    @torch.no_grad()
    def replace(self, rows: Sequence[int] | Tensor, source: Cache) -> None:
        """Gives ``rows`` over to the rows of ``source``, one for one."""
        taken = rows.tolist() if isinstance(rows, Tensor) else list(rows)
        assert len(taken) == source.rows, f"{len(taken)} rows for {source.rows}"
        index = torch.tensor(taken, dtype=torch.int64, device=self._device)
        for layer, other in zip(self.layers, source.layers, strict=True):
            layer.replace(index, other)
        lengths = list(self.seen)
        for row, length in zip(taken, source.seen, strict=True):
            lengths[row] = length
        self._set(lengths)
