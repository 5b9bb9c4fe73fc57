"""What a decoder remembers of the rows it continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from limite.core.model.attention import LayerCache

if TYPE_CHECKING:
    from limite.core.model.step import StepWeights


class Cache:
    """The state of ``rows`` unfinished rows: one ``LayerCache`` per layer, and their lengths.

    A cache belongs to the weights it was made with: after an update start a new one.
    """

    def __init__(
        self,
        layers: Sequence[LayerCache],
        lengths: Sequence[int],
        capacity: int,
        weights: StepWeights | None,
        device: torch.device,
    ) -> None:
        self.layers = list(layers)
        self.capacity = capacity  # tokens
        self.weights = weights
        self._host_lengths = list(lengths)
        self._device = device
        self.lengths = torch.tensor(self._host_lengths, device=device)  # [R] tokens

    @property
    def rows(self) -> int:
        return len(self._host_lengths)

    @property
    def longest(self) -> int:
        return max(self._host_lengths, default=0)

    @property
    def seen(self) -> tuple[int, ...]:
        """``lengths`` on the host."""
        return tuple(self._host_lengths)

    def grow(self, added: Sequence[int] | None = None) -> None:
        """Notes that every row has ``added`` more tokens: one each, if not said."""
        if added is None:
            self._host_lengths = [length + 1 for length in self._host_lengths]
            self.lengths = self.lengths + 1
            return
        self._host_lengths = [a + b for a, b in zip(self._host_lengths, added, strict=True)]
        self.lengths = torch.tensor(self._host_lengths, device=self._device)

    def require_room(self, added: Sequence[int] | None = None) -> None:
        after = self.longest + 1
        if added is not None:
            assert len(added) == self.rows, f"{len(added)} rows for a cache of {self.rows}"
            after = max(map(sum, zip(self._host_lengths, added, strict=True)))
        assert after <= self.capacity, f"the cache holds {self.capacity} tokens a row, not {after}"

    @torch.no_grad()
    def select(self, row_indexes: Sequence[int] | Tensor) -> Cache:
        """A cache of its own with the given rows, in that order.

        Serves for dropping finished rows, and for repeating a prompt's row once per response.
        """
        picked = row_indexes.tolist() if isinstance(row_indexes, Tensor) else list(row_indexes)
        index = torch.tensor(picked, device=self._device)
        return Cache(
            [layer.select(index) for layer in self.layers],
            [self._host_lengths[row] for row in picked],
            self.capacity,
            self.weights,
            self._device,
        )

    @torch.no_grad()
    def replace(self, rows: Sequence[int] | Tensor, source: Cache) -> None:
        """Gives ``rows`` over to the rows of ``source``, one for one."""
        taken = rows.tolist() if isinstance(rows, Tensor) else list(rows)
        assert len(taken) == source.rows, f"{len(taken)} rows for {source.rows}"
        index = torch.tensor(taken, device=self._device)
        for layer, other in zip(self.layers, source.layers, strict=True):
            layer.replace(index, other)
        for row, length in zip(taken, source.seen, strict=True):
            self._host_lengths[row] = length
        self.lengths = torch.tensor(self._host_lengths, device=self._device)
