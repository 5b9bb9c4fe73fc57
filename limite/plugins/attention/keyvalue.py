"""A layer's keys and values of unfinished rows: full, or a ring of the last few."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import torch
from torch import Tensor

from limite.core.model.attention import LayerCache
from limite.core.model.layout import Layout

TILE = 64
WIDEST_TILE = 1024


def tiles(slots: int) -> Iterator[tuple[int, int]]:
    """Fixed stretches of slots: 64, 64, 128, 256, 512, 1024, 1024, ...; the last may be cut.

    Caches are read tile by tile, so that what a row sums, and in which order, depends on its own
    length only.
    """
    start, stop = 0, TILE
    while start < slots:
        yield start, min(stop, slots)
        start, stop = stop, stop + min(stop, WIDEST_TILE)


def bucket(length: int) -> int:
    """The end of the tile that holds slot ``length - 1``."""
    stop = TILE
    while stop < length:
        stop += min(stop, WIDEST_TILE)
    return stop


class KeyValueCache(LayerCache):
    """Position p of a row lies in slot p modulo ``slots``: a ring once a row is longer.

    Keys are stored as they are compared (normalised, rotated), values as they are summed.
    """

    def __init__(self, kv: Tensor) -> None:
        self.kv = kv  # [2, R, kv_heads, slots, D]: keys, values

    @property
    def slots(self) -> int:
        return self.kv.shape[3]

    def select(self, rows: Tensor) -> KeyValueCache:
        return KeyValueCache(self.kv.index_select(1, rows))

    def replace(self, rows: Tensor, source: LayerCache) -> None:
        assert isinstance(source, KeyValueCache)
        self.kv.index_copy_(1, rows, source.kv)

    def append(self, keys: Tensor, values: Tensor, layout: Layout, before: tuple[int, ...]) -> None:
        """Stores a chunk ``[N, kv_heads, D]`` of each row; of a long one, what a ring keeps."""
        memo = ("append", self.slots)
        if memo not in layout.memo:
            kept = layout.positions >= layout.lengths_tensor[layout.row_of] - self.slots
            index = kept.nonzero().squeeze(1)
            rows = layout.row_of[index]
            start = torch.tensor(before, device=layout.device)
            layout.memo[memo] = index, rows, (start[rows] + layout.positions[index]) % self.slots
        index, rows, slots = layout.memo[memo]
        self.kv[0][rows, :, slots] = keys.index_select(0, index)
        self.kv[1][rows, :, slots] = values.index_select(0, index)

    def positions(self, lengths: Tensor) -> Tensor:
        """The position each slot holds ``[R, slots]`` after ``lengths [R]`` tokens; less than 0:
        none."""
        slots = torch.arange(self.slots, device=self.kv.device)
        return positions_of(slots, lengths, self.slots)


def positions_of(slots: Tensor, lengths: Tensor, size: int) -> Tensor:
    """The position in each of ``slots`` of a ring of ``size`` after ``lengths [R]`` tokens."""
    last = lengths[:, None] - 1
    return last - (last - slots) % size


def band(length: int, window: int, device: torch.device) -> Tensor:
    """``[T, T]`` bool: which keys each query sees, the last ``window`` up to itself."""
    distance = torch.arange(length, device=device)[:, None] - torch.arange(length, device=device)
    return (distance >= 0) & (distance < window)


@attrs.frozen(eq=False)
class ChunkGroup:
    """Rows whose chunks, and pasts, fill the same number of places."""

    rows: Tensor  # [b] indexes
    places: int  # of the padded chunk
    past: int  # slots read of the cache
    padded: Tensor  # [b * places] tokens, the last repeated
    tokens: Tensor  # [n] the group's tokens
    real: Tensor  # [n] their places in the padded view
    mask: Tensor | None  # [b, 1, places, past + places]; None: causal and no past


def _places(length: int) -> int:
    """The chunk's length rounded up: to a power of two, from 32 on to a multiple of 32."""
    return 1 << (length - 1).bit_length() if length <= 32 else -(-length // 32) * 32


def chunk_groups(
    layout: Layout, before: tuple[int, ...], slots: int, window: int | None
) -> list[ChunkGroup]:
    """The rows of a chunk by size, so that the shapes a row is computed in are its own."""
    members: dict[tuple[int, int], list[int]] = {}
    for row, (length, seen) in enumerate(zip(layout.lengths, before, strict=True)):
        if length:
            past = min(slots, bucket(seen)) if seen else 0
            members.setdefault((_places(length), past), []).append(row)
    groups = []
    for (places, past), numbers in members.items():
        rows = torch.tensor(numbers, device=layout.device)
        place = torch.arange(places, device=layout.device)
        lengths = layout.lengths_tensor[rows]
        padded = layout.starts[rows][:, None] + torch.minimum(place, lengths[:, None] - 1)
        real = (place < lengths[:, None]).flatten().nonzero().squeeze(1)
        seen_tokens = torch.tensor([before[row] for row in numbers], device=layout.device)
        mask = _mask(place, seen_tokens, past, slots, window)
        groups.append(
            ChunkGroup(rows, places, past, padded.flatten(), padded.flatten()[real], real, mask)
        )
    return groups


def _mask(place: Tensor, seen: Tensor, past: int, slots: int, window: int | None) -> Tensor | None:
    """Which of ``past`` slots and of the chunk's own places each query of the chunk sees."""
    places = len(place)
    own = band(places, places if window is None else window, place.device)
    if not past:
        return None if window is None or window >= places else own[None, None]
    held = positions_of(torch.arange(past, device=place.device), seen, slots)  # [b, P]
    visible = (held >= 0)[:, None].expand(-1, places, -1)
    if window is not None:
        distance = (seen[:, None] + place)[:, :, None] - held[:, None]
        visible = visible & (distance < window)
    return torch.cat((visible, own.expand(len(seen), -1, -1)), dim=2)[:, None]
