"""A layer's keys and values of unfinished rows: full, or a ring of the last few."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.core.model.attention import LayerCache, Moment

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

    Keys are stored as they are compared (normalised, rotated), values as they are summed. Keys lie
    channel by channel, the order in which one query is fastest multiplied with all of them.
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self.keys = keys  # [R, kv_heads, D, slots]
        self.values = values  # [R, kv_heads, slots, D]

    @classmethod
    def empty(
        cls,
        rows: int,
        kv_heads: int,
        slots: int,
        width: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> KeyValueCache:
        # Zeros, not garbage: an empty slot has weight 0, and 0 times garbage may be NaN.
        return cls(
            torch.zeros(rows, kv_heads, width, slots, dtype=dtype, device=device),
            torch.zeros(rows, kv_heads, slots, width, dtype=dtype, device=device),
        )

    @property
    def slots(self) -> int:
        return self.values.shape[2]

    def select(self, rows: Tensor) -> KeyValueCache:
        return KeyValueCache(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def replace(self, rows: Tensor, source: LayerCache) -> None:
        assert isinstance(source, KeyValueCache)
        self.keys.index_copy_(0, rows, source.keys)
        self.values.index_copy_(0, rows, source.values)

    def read(self, rows: Tensor, slots: int) -> tuple[Tensor, Tensor]:
        """Keys and values in the first ``slots`` slots of ``rows``: ``[b, slots, kv_heads, D]``."""
        keys, values = self.keys[rows, :, :, :slots], self.values[rows, :, :slots]
        return keys.permute(0, 3, 1, 2), values.transpose(1, 2)

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
        self.keys[rows, :, :, slots] = keys.index_select(0, index)
        self.values[rows, :, slots] = values.index_select(0, index)

    def positions(self, lengths: Tensor) -> Tensor:
        """The position in each slot after ``lengths [R]`` tokens, below 0 none: ``[R, slots]``."""
        slots = torch.arange(self.slots, device=self.values.device)
        return positions_of(slots, lengths, self.slots)


def attend_step(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    cache: KeyValueCache,
    moment: Moment,
    scale: float,
) -> Tensor:
    """Stores one token of each row, and attends from it over the row's slots.

    ``queries [R, heads, D]``, ``keys`` and ``values [R, kv_heads, D]``.
    """
    rows, kv_heads, width, slots = cache.keys.shape
    count, heads = rows * kv_heads, queries.shape[1]
    place, column, bias = _places(slots, kv_heads, width, moment)
    all_keys, all_values = (
        cache.keys.view(count, width, slots),
        cache.values.view(count, slots, width),
    )
    all_keys.scatter_(2, column, keys.reshape(count, width, 1))
    all_values.view(-1, width).index_copy_(0, place, values.reshape(count, width))
    grouped = queries.reshape(count, heads // kv_heads, width)
    if slots < TILE:  # a ring, always this size
        scores = torch.add(bias, grouped.bmm(all_keys), alpha=scale)  # [R * K, G, slots]
        return scores.softmax(-1).bmm(all_values).view(rows, heads, width)
    live = [stretch for stretch in tiles(slots) if stretch[0] <= moment.longest]
    parts = [
        torch.add(bias[..., a:b], grouped.bmm(all_keys[..., a:b]), alpha=scale) for a, b in live
    ]
    return _tiled(parts, [all_values[:, a:b] for a, b in live]).view(rows, heads, width)


def _tiled(scores: list[Tensor], values: list[Tensor]) -> Tensor:
    """Tile after tile; one in which a row has nothing adds exact zeros to the row's sums."""
    peak = scores[0].amax(-1, keepdim=True)
    for part in scores[1:]:
        peak = torch.maximum(peak, part.amax(-1, keepdim=True))
    weights = [part.sub_(peak).exp_() for part in scores]
    total, out = weights[0].sum(-1, keepdim=True), weights[0].bmm(values[0])
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total, out = total + weight.sum(-1, keepdim=True), out + weight.bmm(value)
    return out / total


def _places(slots: int, kv_heads: int, width: int, moment: Moment) -> tuple[Tensor, Tensor, Tensor]:
    """Where each new value goes ``[R * K]``, each new key ``[R * K, D, 1]``, and what hides empty
    slots ``[R * K, 1, slots]``."""
    memo = ("places", slots, kv_heads)
    if memo not in moment.memo:
        lengths = moment.lengths
        if kv_heads > 1:
            lengths = lengths.repeat_interleave(kv_heads)
        column = lengths % slots
        first = torch.arange(0, len(lengths) * slots, slots, device=lengths.device)
        dark = torch.arange(slots, device=lengths.device) > lengths[:, None]
        bias = torch.zeros(dark.shape, dtype=moment.dtype, device=lengths.device)
        bias.masked_fill_(dark, -torch.inf)
        moment.memo[memo] = (
            first + column,
            column[:, None, None].expand(-1, width, 1),
            bias[:, None],
        )
    places: tuple[Tensor, Tensor, Tensor] = moment.memo[memo]
    return places


def positions_of(slots: Tensor, lengths: Tensor, size: int) -> Tensor:
    """The position in each of ``slots`` of a ring of ``size`` after ``lengths [R]`` tokens."""
    last = lengths[:, None] - 1
    return last - (last - slots) % size
