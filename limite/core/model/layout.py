"""Where the tokens of each row lie in a packed batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import attrs
import torch
from torch import Tensor


@attrs.frozen(eq=False, slots=False)
class Layout:
    """``B`` rows of different lengths laid end to end as ``N`` tokens, without padding.

    Built once per batch and shared by all layers. Padded views have ``T`` places for every row,
    ``T`` being the longest row, and the row's tokens at the left.
    """

    lengths: tuple[int, ...]
    device: torch.device

    @classmethod
    def from_lengths(
        cls, lengths: Sequence[int] | Tensor, device: torch.device | str = "cpu"
    ) -> Layout:
        numbers = lengths.tolist() if isinstance(lengths, Tensor) else lengths
        if not numbers or min(numbers) < 0:
            raise ValueError(f"a layout needs at least one row and no negative length: {numbers}")
        return cls(tuple(int(number) for number in numbers), torch.device(device))

    @property
    def rows(self) -> int:
        return len(self.lengths)

    @cached_property
    def tokens(self) -> int:
        return sum(self.lengths)

    @cached_property
    def longest(self) -> int:
        return max(self.lengths)

    @property
    def even(self) -> bool:
        """Whether all rows have one length, so that padding changes nothing."""
        return self.tokens == self.rows * self.longest

    @cached_property
    def lengths_tensor(self) -> Tensor:
        return torch.tensor(self.lengths, device=self.device)  # [B]

    @cached_property
    def starts(self) -> Tensor:
        """The first token of each row."""
        return self.lengths_tensor.cumsum(0) - self.lengths_tensor  # [B]

    @cached_property
    def row_of(self) -> Tensor:
        """The row of each token."""
        rows = torch.arange(self.rows, device=self.device)
        return rows.repeat_interleave(self.lengths_tensor, output_size=self.tokens)  # [N]

    @cached_property
    def positions(self) -> Tensor:
        """The place of each token in its row, from 0."""
        return torch.arange(self.tokens, device=self.device) - self.starts[self.row_of]  # [N]

    @cached_property
    def padded_index(self) -> Tensor:
        """The place of each token in the padded view, counted through all rows."""
        return self.row_of * self.longest + self.positions  # [N]

    @cached_property
    def packed_index(self) -> Tensor:
        """For each place of the padded view a token of the row: its own, or else its last."""
        places = torch.arange(self.longest, device=self.device)
        last = (self.lengths_tensor - 1).clamp(min=0)
        index = self.starts[:, None] + torch.minimum(places, last[:, None])  # [B, T]
        return index.clamp(max=max(self.tokens - 1, 0)).flatten()

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """Room for what attention derives from the layout once and uses in every layer."""
        return {}

    def pad(self, values: Tensor) -> Tensor:
        """``[N, ...]`` to ``[B, T, ...]``; the padding repeats the row's last token."""
        wide = values if self.even else values.index_select(0, self.packed_index)
        return wide.reshape(self.rows, self.longest, *values.shape[1:])

    def spread(self, values: Tensor) -> Tensor:
        """``[N, ...]`` to ``[B, T, ...]`` with zeros in the padding."""
        shape = (self.rows * self.longest, *values.shape[1:])
        wide = values
        if not self.even:
            wide = values.new_zeros(shape).index_copy_(0, self.padded_index, values)
        return wide.reshape(self.rows, self.longest, *values.shape[1:])

    def unpad(self, values: Tensor) -> Tensor:
        """``[B, T, ...]`` to ``[N, ...]``: drops the padding."""
        flat = values.reshape(self.rows * self.longest, *values.shape[2:])
        return flat if self.even else flat.index_select(0, self.padded_index)
