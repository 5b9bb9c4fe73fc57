"""A layer's keys and values of unfinished rows: full, or a ring of the last few."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from limite.core.kernels import dispatch
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.native import attention_decode as native
from limite.core.model.attention import LayerCache


@lru_cache(maxsize=16)
def _firsts(count: int, slots: int, device: torch.device) -> Tensor:
    """The first slot of each of ``count`` rings that lie one after the other."""
    with torch.inference_mode(False):  # it outlives the caller's mode
        return torch.arange(0, count * slots, slots, device=device)


class KeyValueCache(LayerCache):
    """Position p of a row lies in slot p modulo ``slots``: a ring once a row is longer.

    Keys are stored as they are compared (normalised, rotated), values as they are summed. On a CPU
    keys lie channel by channel, the order in which one query is fastest multiplied with all.
    """

    def __init__(self, stored_keys: Tensor, values: Tensor, *, by_channel: bool) -> None:
        self.values = values  # [R, kv_heads, slots, D]
        self.by_channel = by_channel
        self.stored_keys = stored_keys  # as the values, or, by channel, [R, kv_heads, D, slots]
        self.keys = stored_keys.mT if by_channel else stored_keys  # [R, kv_heads, slots, D]
        # The same memory as a step writes to it: keys of a row and head, and values of a slot.
        rows, kv_heads, slots, width = values.shape
        shape = (rows * kv_heads, width, slots) if by_channel else (rows * kv_heads * slots, width)
        self._flat_keys = stored_keys.view(shape)  # never a copy, which would be written to in vain
        self._flat_values = values.view(rows * kv_heads * slots, width)

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
        by_channel = device.type == "cpu"
        shape = (width, slots) if by_channel else (slots, width)
        return cls(
            torch.zeros(rows, kv_heads, *shape, dtype=dtype, device=device),
            torch.zeros(rows, kv_heads, slots, width, dtype=dtype, device=device),
            by_channel=by_channel,
        )

    @property
    def slots(self) -> int:
        return self.values.shape[2]

    @property
    def compiled(self) -> bool:
        """Whether kernels in C read it at this moment: they look at how long each row is."""
        values = self.values
        name = dispatch.selected("attention_decode", values, values.shape[-1]).name
        return self.by_channel and name == "native"

    @property
    def bytes(self) -> int:
        return self.stored_keys.nbytes + self.values.nbytes

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.stored_keys, self.values

    def select(self, rows: Tensor) -> KeyValueCache:
        return KeyValueCache(
            self.stored_keys.index_select(0, rows),
            self.values.index_select(0, rows),
            by_channel=self.by_channel,
        )

    def replace(self, rows: Tensor, source: LayerCache) -> None:
        assert isinstance(source, KeyValueCache)
        self.stored_keys.index_copy_(0, rows, source.stored_keys)
        self.values.index_copy_(0, rows, source.values)

    def leading(self, rows: int) -> KeyValueCache:
        return KeyValueCache(
            self.stored_keys[:rows], self.values[:rows], by_channel=self.by_channel
        )

    def read(self, rows: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values in ``slots [b, P]`` of ``rows [b]``: ``[b, P, kv_heads, D]``."""
        return self.keys[rows[:, None], :, slots], self.values[rows[:, None], :, slots]

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
        self.keys[rows, :, slots] = keys.index_select(0, index)
        self.values[rows, :, slots] = values.index_select(0, index)

    def append_one(self, keys: Tensor, values: Tensor, moment: Moment) -> None:
        """Stores one token ``[R, kv_heads, D]`` of each row."""
        if self.compiled:
            native.append(keys, values, moment.lengths, self.stored_keys, self.values)
            return
        rows, kv_heads, slots, width = self.values.shape
        memo = ("append", slots, kv_heads, width)
        if memo not in moment.memo:
            slot = moment.lengths - 1
            if moment.longest > slots:
                slot = slot % slots
            if kv_heads > 1:
                slot = slot.repeat_interleave(kv_heads)
            place = _firsts(len(slot), slots, slot.device) + slot
            moment.memo[memo] = place, slot[:, None, None].expand(-1, width, 1)
        place, column = moment.memo[memo]
        if self.by_channel:
            self._flat_keys.scatter_(2, column, keys.reshape(rows * kv_heads, width, 1))
        else:
            self._flat_keys.index_copy_(0, place, keys.reshape(rows * kv_heads, width))
        self._flat_values.index_copy_(0, place, values.reshape(rows * kv_heads, width))

    def positions(self, lengths: Tensor) -> Tensor:
        """The position in each slot after ``lengths [R]`` tokens, below 0 none: ``[R, slots]``."""
        last = lengths[:, None] - 1
        return last - (last - torch.arange(self.slots, device=last.device)) % self.slots
