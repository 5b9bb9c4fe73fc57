"""The rows of a matrix that each rank holds, as FSDP cuts them: as many each, the last ones fewer.

So every rank can tell what all others have, without asking.
"""

from __future__ import annotations

import attrs
import torch
import torch.distributed
from torch import Tensor

from limite.core.recipe.ranks.ranks import Ranks


@attrs.frozen(kw_only=True)
class Pieces:
    """A tensor of ``shape`` cut along its first dimension for ``ranks``, one of which is this."""

    shape: torch.Size
    rank: int
    ranks: int

    @property
    def rows(self) -> int:
        """Of a full piece."""
        return -(-self.shape[0] // self.ranks)

    def rows_of(self, rank: int) -> range:
        """The rows that a rank holds; there may be none."""
        first = min(rank * self.rows, self.shape[0])
        return range(first, min(first + self.rows, self.shape[0]))

    @property
    def own_shape(self) -> torch.Size:
        return torch.Size((len(self.rows_of(self.rank)), *self.shape[1:]))

    @property
    def full(self) -> torch.Size:
        """The shape of a full piece."""
        return torch.Size((self.rows, *self.shape[1:]))

    def padded(self, own: Tensor) -> Tensor:
        """This rank's rows as a full piece."""
        if own.shape == self.full:
            return own.contiguous()
        piece = own.new_zeros(self.full)
        piece[: len(own)] = own
        return piece

    def cut(self, whole: Tensor) -> Tensor:
        """This rank's rows of it."""
        rows = self.rows_of(self.rank)
        return whole[rows.start : rows.stop].clone()

    def gather_into(self, whole: Tensor, own: Tensor, ranks: Ranks) -> None:
        """Gives ``whole`` the rows of all ranks, on all of them."""
        piece = self.padded(own)
        together = piece.new_empty((self.ranks * self.rows, *self.shape[1:]))
        torch.distributed.all_gather_single(together, piece)
        ranks.note_gathered(together)
        whole.copy_(together[: self.shape[0]])

    def on_first(self, own: Tensor, ranks: Ranks) -> Tensor:
        """The rows of all ranks on rank 0, in host memory; nothing on the others."""
        piece = self.padded(own)
        first = self.rank == 0
        found = [torch.empty_like(piece) for _ in range(self.ranks)] if first else None
        with ranks.collective("the checkpoint"):
            torch.distributed.gather(piece, found, dst=0)
        if found is None:
            return own.new_empty(0)
        ranks.note_gathered(piece, len(found))
        return torch.cat(found)[: self.shape[0]].cpu()
