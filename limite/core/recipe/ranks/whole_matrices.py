"""Functions of whole matrices of which each rank holds some rows: each matrix has one owner.

The owner is sent the rows of the others, and sends them what came of theirs: no matrix is worked
on twice, and every row travels once there and once back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
import torch.distributed
from torch import Tensor, nn

from limite.core.recipe.ranks.pieces import Pieces
from limite.core.recipe.ranks.ranks import Ranks

OfMatrices = Callable[[list[Tensor]], list[Tensor]]


class OnWholeMatrices:
    """What ``of_whole`` of an optimizer is when its parameters are rows of matrices."""

    def __init__(self, pieces: Mapping[nn.Parameter, Pieces], ranks: Ranks) -> None:
        self._pieces = pieces
        self._ranks = ranks

    def __call__(
        self, change: OfMatrices, parameters: Sequence[nn.Parameter], tensors: Sequence[Tensor]
    ) -> list[Tensor]:
        """``change`` of the whole matrices of which ``tensors`` are this rank's rows: its rows of
        what came of them. ``change`` returns tensors of the same shapes, in the same order."""
        shared = [index for index, each in enumerate(parameters) if each in self._pieces]
        apart = [index for index, each in enumerate(parameters) if each not in self._pieces]
        own = dict(zip(apart, change([tensors[index] for index in apart]), strict=True))
        told = self._of_shared(
            change,
            [self._pieces[parameters[index]] for index in shared],
            [tensors[index] for index in shared],
        )
        own |= dict(zip(shared, told, strict=True))
        return [own[index] for index in range(len(tensors))]

    def _of_shared(
        self, change: OfMatrices, pieces: Sequence[Pieces], tensors: Sequence[Tensor]
    ) -> list[Tensor]:
        owners = owners_of([each.shape.numel() for each in pieces], self._ranks.world_size)
        found: dict[int, Tensor] = {}
        for owner in range(self._ranks.world_size):
            mine = [index for index, each in enumerate(owners) if each == owner]
            if mine:
                rows = self._changed(
                    change, [pieces[index] for index in mine], [tensors[i] for i in mine], owner
                )
                found |= dict(zip(mine, rows, strict=True))
        return [found[index] for index in range(len(tensors))]

    def _changed(
        self, change: OfMatrices, pieces: list[Pieces], tensors: list[Tensor], owner: int
    ) -> list[Tensor]:
        ranks = self._ranks
        sizes = [each.full.numel() for each in pieces]
        sent = torch.cat(
            [each.padded(tensor).reshape(-1) for each, tensor in zip(pieces, tensors, strict=True)]
        )
        owns = ranks.rank == owner
        parts = [torch.empty_like(sent) for _ in range(ranks.world_size)] if owns else None
        with ranks.collective("gathering matrices"):
            torch.distributed.gather(sent, parts, dst=owner)
        back = None
        if parts is not None:
            cuts = [part.split(sizes) for part in parts]
            whole = [
                torch.cat([cut[number].view(each.full) for cut in cuts])[: each.shape[0]]
                for number, each in enumerate(pieces)
            ]
            changed = change(whole)
            back = [
                torch.cat(
                    [
                        Pieces(shape=each.shape, rank=rank, ranks=ranks.world_size)
                        .padded(matrix[slice_of(each, rank)])
                        .reshape(-1)
                        for each, matrix in zip(pieces, changed, strict=True)
                    ]
                )
                for rank in range(ranks.world_size)
            ]
        received = torch.empty_like(sent)
        with ranks.collective("returning matrices"):
            torch.distributed.scatter(received, back, src=owner)
        ranks.note_given(sent)
        ranks.note_gathered(received)
        return [
            flat.view(each.full)[: each.own_shape[0]]
            for flat, each in zip(received.split(sizes), pieces, strict=True)
        ]


def slice_of(pieces: Pieces, rank: int) -> slice:
    """The rows of a rank."""
    rows = pieces.rows_of(rank)
    return slice(rows.start, rows.stop)


def owners_of(sizes: Sequence[int], ranks: int) -> list[int]:
    """Whose each of the matrices is: the largest first, each to who has least."""
    held = [0] * ranks
    owners = [0] * len(sizes)
    for index in sorted(range(len(sizes)), key=lambda each: (-sizes[each], each)):
        owner = held.index(min(held))
        owners[index] = owner
        held[owner] += sizes[index]
    return owners
