"""Rows that begin alike, and hold what they begin with once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import attrs
import torch
from torch import Tensor

from limite.core.kernels.layout import Layout


@attrs.frozen(eq=False)
class WholeRows:
    """Branching rows written out again, each after the tokens it goes on from."""

    layout: Layout  # of M tokens
    tokens: Tensor  # [M] the token at each place, among the N of the branching rows
    places: Tensor  # [N] where each of those stands in its own row


@attrs.frozen(eq=False)
class BranchBlock:
    """Branches of similar length, padded at the right, after what they go on from, at the left."""

    own: Tensor  # [b * T] tokens, the last repeated
    seen: Tensor  # [b * (P + T)] tokens before, and own
    segments: Tensor  # [b, P + T] 0 where there is a token, -1 in the padding
    tokens: Tensor  # [n] the tokens of the block
    real: Tensor  # [n] their places in the padded view

    @property
    def rows(self) -> int:
        return len(self.segments)


@attrs.frozen(eq=False, slots=False)
class Branches:
    """Rows laid end to end, some of which go on from the first tokens of another.

    ``layout`` is of the tokens that a row has for itself: ``N`` together. Row r goes on from the
    first ``taken[r]`` tokens of row ``parents[r]``, which goes on from none; where ``taken`` is 0
    it is a row as any other. So a prompt stands once before all of its responses.
    """

    layout: Layout
    parents: tuple[int, ...]
    taken: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        for row, (parent, taken) in enumerate(zip(self.parents, self.taken, strict=True)):
            held = self.layout.lengths[parent]
            if taken and (self.taken[parent] or not 0 < taken <= held):
                raise ValueError(
                    f"Branches: row {row} cannot go on from {taken} tokens of row {parent}, which "
                    f"has {held} for itself and goes on from {self.taken[parent]}"
                )

    @property
    def device(self) -> torch.device:
        return self.layout.device

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest row, with those it goes on from."""
        return max(map(sum, zip(self.taken, self.layout.lengths, strict=True)))

    @cached_property
    def positions(self) -> Tensor:
        """The place of each token in its row, counted with those it goes on from: ``[N]``."""
        return self.layout.positions + self._tensor(self.taken)[self.layout.row_of]

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """Room for what attention derives from the branches once and uses in every layer."""
        return {}

    def whole(self, reach: int | None = None) -> WholeRows:
        """Every row after the last ``reach`` of the tokens it goes on from, or after all."""
        if ("whole", reach) not in self.memo:
            self.memo["whole", reach] = self._written_out(reach)
        found: WholeRows = self.memo["whole", reach]
        return found

    def repeated(self, reach: int | None = None) -> int:
        """How many tokens ``whole`` has more than there are."""
        return sum(taken if reach is None else min(taken, reach) for taken in self.taken)

    def _written_out(self, reach: int | None) -> WholeRows:
        own = self.layout
        before = [taken if reach is None else min(taken, reach) for taken in self.taken]
        lengths = [a + b for a, b in zip(before, own.lengths, strict=True)]
        layout = Layout.from_lengths(lengths, self.device)
        start = self._tensor(before)  # [B] the place of a row's first own token
        place = layout.positions - start[layout.row_of]  # [M] below 0: of the parent
        first = own.starts[self._tensor(self.parents)] + self._tensor(self.taken)  # [B]
        base = torch.where(place < 0, first[layout.row_of], own.starts[layout.row_of])
        places = layout.starts[own.row_of] + start[own.row_of] + own.positions
        return WholeRows(layout, base + place, places)

    @cached_property
    def stems(self) -> tuple[Layout, Tensor]:
        """The rows that go on from none: their layout, and their tokens ``[n]``."""
        own = self.layout
        rows = [row for row, taken in enumerate(self.taken) if not taken]
        layout = Layout.from_lengths([own.lengths[row] for row in rows], self.device)
        first = own.starts[self._tensor(rows)]
        return layout, first[layout.row_of] + layout.positions

    def blocks(self, reach: int | None = None) -> list[BranchBlock]:
        """The other rows, those of similar length together, after at most ``reach`` tokens."""
        if ("blocks", reach) not in self.memo:
            members: dict[tuple[int, int], list[int]] = {}
            for row, (taken, length) in enumerate(
                zip(self.taken, self.layout.lengths, strict=True)
            ):
                if taken and length:
                    size = tuple(1 << (each - 1).bit_length() for each in (taken, length))
                    members.setdefault((size[0], size[1]), []).append(row)
            self.memo["blocks", reach] = [
                self._block(rows, reach) for _, rows in sorted(members.items())
            ]
        found: list[BranchBlock] = self.memo["blocks", reach]
        return found

    def joined(self, reach: int | None = None) -> Tensor:
        """Where each token is found once what comes of ``stems`` and ``blocks`` is joined: [N]."""
        if ("joined", reach) not in self.memo:
            order = torch.cat((self.stems[1], *(block.tokens for block in self.blocks(reach))))
            place = torch.empty_like(order)
            place[order] = torch.arange(len(order), device=self.device)
            self.memo["joined", reach] = place
        found: Tensor = self.memo["joined", reach]
        return found

    def _block(self, numbers: Sequence[int], reach: int | None) -> BranchBlock:
        own = self.layout
        rows = self._tensor(numbers)
        length = max(own.lengths[row] for row in numbers)  # T
        past = max(self.taken[row] for row in numbers)  # P
        past = past if reach is None else min(past, reach)
        lengths = own.lengths_tensor[rows][:, None]
        starts = own.starts[rows][:, None]
        place = torch.arange(length, device=self.device)
        padded = starts + torch.minimum(place, lengths - 1)  # [b, T]
        taken = self._tensor([self.taken[row] for row in numbers])[:, None]
        parents = self._tensor([self.parents[row] for row in numbers])
        before = taken + torch.arange(-past, 0, device=self.device)  # [b, P] places in the parent
        held = own.starts[parents][:, None] + before.clamp(min=0)
        there = torch.cat((before >= 0, place < lengths), dim=1)
        real = (place < lengths).flatten().nonzero().squeeze(1)
        return BranchBlock(
            own=padded.flatten(),
            seen=torch.cat((held, padded), dim=1).flatten(),
            segments=there.long() - 1,
            tokens=padded.flatten()[real],
            real=real,
        )

    def _tensor(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.int64, device=self.device)
