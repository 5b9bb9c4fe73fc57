"""Where the tokens of each row lie in a packed batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import index
from typing import Any

import attrs
import torch
from torch import Tensor

SHORTEST_BLOCK = 32
"""Rows up to this many tokens are padded together."""


@attrs.frozen(eq=False)
class PaddedBlock:
    """Rows of similar length, padded to the longest of them."""

    numbers: tuple[int, ...]  # of the rows
    length: int  # T of the block, tokens
    start: int  # its first place among those of all blocks

    @property
    def rows(self) -> int:
        return len(self.numbers)


@attrs.frozen(eq=False, slots=False)
class Layout:
    """``B`` rows of different lengths laid end to end as ``N`` tokens, without padding.

    Built once per batch and shared by all layers. Where attention wants rectangles, rows of
    similar length are padded together, each block ``[b, T, ...]`` to its own longest row, with the
    tokens at the left: one long row does not widen all the others.
    """

    lengths: tuple[int, ...]
    device: torch.device

    @classmethod
    def from_lengths(
        cls, lengths: Sequence[int] | Tensor, device: torch.device | str = "cpu"
    ) -> Layout:
        given = lengths.tolist() if isinstance(lengths, Tensor) else lengths
        try:
            numbers = [index(each) for each in given]
        except TypeError:  # something else than whole numbers, or than a row of them
            numbers = []
        if not numbers or min(numbers) < 0:
            expected = "at least one whole number, and none below 0"
            raise ValueError(f"Layout.from_lengths: lengths: expected {expected}, got {given}")
        # The device as tensors name it: "cuda" is "cuda:0" there, and would not be equal to it.
        found = torch.empty(0, device=device).device
        return cls(tuple(numbers), found)

    @property
    def rows(self) -> int:
        return len(self.lengths)

    @cached_property
    def tokens(self) -> int:
        return sum(self.lengths)

    @cached_property
    def longest(self) -> int:
        return max(self.lengths)

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
    def memo(self) -> dict[Any, Any]:
        """Room for what attention derives from the layout once and uses in every layer."""
        return {}

    @cached_property
    def blocks(self) -> tuple[PaddedBlock, ...]:
        """Non-empty rows by length: up to 32 tokens, up to 64, up to 128, ..."""
        members: dict[int, list[int]] = {}
        for row, length in enumerate(self.lengths):
            if length:
                size = max(SHORTEST_BLOCK, 1 << (length - 1).bit_length())
                members.setdefault(size, []).append(row)
        blocks, start = [], 0
        for _, numbers in sorted(members.items()):
            length = max(self.lengths[row] for row in numbers)
            blocks.append(PaddedBlock(tuple(numbers), length, start))
            start += len(numbers) * length
        return tuple(blocks)

    @cached_property
    def places(self) -> int:
        """Of all blocks together, padding included."""
        return sum(block.rows * block.length for block in self.blocks)

    @property
    def even(self) -> bool:
        """Whether nothing is padded, and packed tokens lie as in the one block."""
        return len(self.blocks) == 1 and self.places == self.tokens

    @cached_property
    def padded_index(self) -> Tensor:
        """The place of each token among those of all blocks."""
        first = [0] * self.rows
        for block in self.blocks:
            for order, row in enumerate(block.numbers):
                first[row] = block.start + order * block.length
        return torch.tensor(first, device=self.device)[self.row_of] + self.positions  # [N]

    @cached_property
    def packed_index(self) -> Tensor:
        """For each place of all blocks a token of its row: its own, or else the last."""
        parts = []
        for block in self.blocks:
            rows = torch.tensor(block.numbers, device=self.device)
            place = torch.arange(block.length, device=self.device)
            last = self.lengths_tensor[rows][:, None] - 1
            parts.append((self.starts[rows][:, None] + torch.minimum(place, last)).flatten())
        return torch.cat(parts)

    def pad(self, values: Tensor) -> list[Tensor]:
        """``[N, ...]`` as blocks ``[b, T, ...]``; the padding repeats the row's last token."""
        return self._cut(values if self.even else values.index_select(0, self.packed_index))

    def spread(self, values: Tensor) -> list[Tensor]:
        """``[N, ...]`` as blocks ``[b, T, ...]`` with zeros in the padding."""
        if self.even:
            return self._cut(values)
        wide = values.new_zeros((self.places, *values.shape[1:]))
        return self._cut(wide.index_copy_(0, self.padded_index, values))

    def unpad(self, blocks: Sequence[Tensor]) -> Tensor:
        """Blocks ``[b, T, ...]`` to ``[N, ...]``: drops the padding."""
        flat = [block.flatten(0, 1) for block in blocks]
        wide = flat[0] if len(flat) == 1 else torch.cat(flat)
        return wide if self.even else wide.index_select(0, self.padded_index)

    def _cut(self, wide: Tensor) -> list[Tensor]:
        return [
            wide[block.start : block.start + block.rows * block.length].unflatten(
                0, (block.rows, block.length)
            )
            for block in self.blocks
        ]
