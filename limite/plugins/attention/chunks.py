"""The rows of a chunk of new tokens, by size, and what each group reads of the cache."""

from __future__ import annotations

import attrs
import torch
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.slots import bucket


@attrs.frozen(eq=False)
class ChunkGroup:
    """Rows whose chunks, and pasts, fill the same number of places.

    Chunks are padded at the right, pasts at the left, so that tokens that follow each other in a
    row lie side by side.
    """

    rows: Tensor  # [b] indexes
    places: int  # of the padded chunk
    padded: Tensor  # [b * places] tokens, the last repeated
    tokens: Tensor  # [n] the group's tokens
    real: Tensor  # [n] their places in the padded view
    past: Tensor | None  # [b, P] slots of the tokens before, in their order
    segments: Tensor | None  # [b, P + places] 0 where there is a token, -1 in the padding


@attrs.frozen(eq=False)
class SingleTokens:
    """Rows with a chunk of one token: for them, a decoding step."""

    rows: Tensor | None  # [b] indexes; None: all
    tokens: Tensor  # [b] their tokens
    moment: Moment


@attrs.frozen(eq=False)
class Chunks:
    """All rows of a chunk that have any tokens."""

    groups: list[ChunkGroup]
    single: SingleTokens | None


def _places(length: int) -> int:
    """The chunk's length rounded up: to a power of two, from 32 on to a multiple of 32."""
    return 1 << (length - 1).bit_length() if length <= 32 else -(-length // 32) * 32


def sorted_chunks(layout: Layout, before: tuple[int, ...], slots: int) -> Chunks:
    """The rows of a chunk by size, so that the shapes a row is computed in are its own."""
    members: dict[tuple[int, int], list[int]] = {}
    for row, (length, seen) in enumerate(zip(layout.lengths, before, strict=True)):
        if length > 1:
            past = min(slots, bucket(seen)) if seen else 0
            members.setdefault((_places(length), past), []).append(row)
    groups = [
        _group(layout, before, numbers, places, past, slots)
        for (places, past), numbers in members.items()
    ]
    return Chunks(groups, single_tokens(layout, before))


def single_tokens(layout: Layout, before: tuple[int, ...]) -> SingleTokens | None:
    """The rows of a chunk that have one token; None where none has."""
    numbers = [row for row, length in enumerate(layout.lengths) if length == 1]
    if not numbers:
        return None
    rows = torch.tensor(numbers, device=layout.device)
    lengths = [before[row] + 1 for row in numbers]
    moment = Moment(torch.tensor(lengths, device=layout.device), max(lengths), min(lengths))
    everyone = len(numbers) == layout.rows
    return SingleTokens(None if everyone else rows, layout.starts[rows], moment)


def _group(
    layout: Layout,
    before: tuple[int, ...],
    numbers: list[int],
    places: int,
    past: int,
    slots: int,
) -> ChunkGroup:
    rows = torch.tensor(numbers, device=layout.device)
    place = torch.arange(places, device=layout.device)
    lengths = layout.lengths_tensor[rows][:, None]
    padded = (layout.starts[rows][:, None] + torch.minimum(place, lengths - 1)).flatten()
    real = (place < lengths).flatten().nonzero().squeeze(1)
    held, segments = None, None
    if past:
        seen = torch.tensor([before[row] for row in numbers], device=layout.device)[:, None]
        position = seen + torch.arange(-past, places, device=layout.device)  # [b, P + places]
        there = (position >= 0) & (position < seen + lengths)
        segments = there.long() - 1
        held = position[:, :past].clamp(min=0) % slots
    return ChunkGroup(rows, places, padded, padded[real], real, held, segments)
