"""Softmax attention over all, or over the last few, tokens of a row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from functools import lru_cache

import attrs
import torch
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.slots import bucket, tiles
from limite.core.model.attention import AttentionMixer
from limite.core.model.branches import Branches
from limite.core.model.spec import AttentionShape
from limite.plugins.attention.chunks import Chunks, sorted_chunks
from limite.plugins.attention.keyvalue import KeyValueCache

NARROW = 64
"""Windows up to this many tokens are cheap enough for a branch to repeat what it goes on from."""

FEW_REPEATS = 2.0
"""Of the tokens there are: so many more cost less than attention of branches by themselves."""


@lru_cache(maxsize=16)
def _ends(slots: int) -> tuple[int, ...]:
    return tuple(stop for _, stop in tiles(slots))


@attrs.frozen
class Decided:
    """Which tiles of a cache are read, and which of them all rows see in whole, or some not."""

    slots: int
    width: int
    dtype: torch.dtype
    cache: KeyValueCache = attrs.field(eq=False)  # one of those that are so

    @classmethod
    def of(cls, cache: KeyValueCache) -> Decided:
        return cls(cache.slots, cache.values.shape[-1], cache.values.dtype, cache)

    def __call__(self, longest: int, shortest: int) -> Hashable:
        if self.cache.compiled:  # every row reads what it has; nothing is decided beforehand
            return None
        ends = _ends(self.slots)
        return (
            bisect_left(ends, longest),
            bisect_right(ends, shortest),
            bisect_left(ends, shortest),
            longest > self.slots,
        )


class WindowMixer(AttentionMixer):
    """``softmax(scale q.k) v`` over the visible keys; softmax in float32.

    ``window`` is the number of visible keys, the token's own included; None sees all before.
    """

    def __init__(self, shape: AttentionShape, *, window: int | None, rotary: bool) -> None:
        super().__init__()
        self.heads, self.kv_heads = shape.heads, shape.kv_heads
        self.head_width, self.scale = shape.head_width, shape.scale
        self.window, self.rotary = window, rotary

    def arithmetic(self, tokens: int) -> int:
        met = tokens if self.window is None else min(tokens, self.window)
        seen = met * (met + 1) // 2 + (tokens - met) * met
        return 4 * self.heads * self.head_width * seen

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, inputs: Tensor, layout: Layout
    ) -> Tensor:
        return self._packed(queries, keys, values, layout)

    def branched(
        self, queries: Tensor, keys: Tensor, values: Tensor, inputs: Tensor, branches: Branches
    ) -> Tensor:
        streams = (queries, keys, values)
        reach = None if self.window is None else self.window - 1
        narrow = self.window is not None and self.window <= NARROW
        if narrow or branches.repeated(reach) <= FEW_REPEATS * branches.layout.tokens:
            rows = branches.whole(reach)
            q, k, v = (x.index_select(0, rows.tokens) for x in streams)
            return self._packed(q, k, v, rows.layout).index_select(0, rows.places)
        layout, stems = branches.stems
        q, k, v = (x.index_select(0, stems) for x in streams)
        parts = [self._packed(q, k, v, layout)]
        for block in branches.blocks(reach):
            q, k, v = (
                x.index_select(0, index).unflatten(0, (block.rows, -1)).transpose(1, 2)
                for x, index in zip(streams, (block.own, block.seen, block.seen), strict=True)
            )
            mixed, _ = ops.attention(
                q,
                k,
                v,
                scale=self.scale,
                window=self.window,
                segments=block.segments,
                need_lse=False,
            )
            parts.append(mixed.transpose(1, 2).flatten(0, 1).index_select(0, block.real))
        return torch.cat(parts).index_select(0, branches.joined(reach))

    def _packed(self, queries: Tensor, keys: Tensor, values: Tensor, layout: Layout) -> Tensor:
        out, _ = ops.attention(
            *(streams.transpose(0, 1)[None] for streams in (queries, keys, values)),
            scale=self.scale,
            window=self.window,
            segments=layout,
            need_lse=False,
        )
        return out.squeeze(0).transpose(0, 1)

    def new_cache(
        self, rows: int, capacity: int, dtype: torch.dtype, device: torch.device
    ) -> KeyValueCache:
        slots = bucket(capacity)
        if self.window is not None:
            slots = min(slots, self.window)
        return KeyValueCache.empty(rows, self.kv_heads, slots, self.head_width, dtype, device)

    def extend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        layout: Layout,
        cache: KeyValueCache,
        before: tuple[int, ...],
    ) -> Tensor:
        out = torch.empty_like(queries)
        memo = ("chunks", cache.slots)
        if memo not in layout.memo:
            layout.memo[memo] = sorted_chunks(layout, before, cache.slots)
        chunks: Chunks = layout.memo[memo]
        for group in chunks.groups:
            q, k, v = (
                x.index_select(0, group.padded).unflatten(0, (len(group.rows), group.places))
                for x in (queries, keys, values)
            )
            if group.past is not None:
                past_keys, past_values = cache.read(group.rows, group.past)
                k, v = torch.cat((past_keys, k), dim=1), torch.cat((past_values, v), dim=1)
            mixed, _ = ops.attention(
                *(x.transpose(1, 2) for x in (q, k, v)),
                scale=self.scale,
                window=self.window,
                segments=group.segments,
                need_lse=False,
            )
            flat = mixed.transpose(1, 2).flatten(0, 1)
            out.index_copy_(0, group.tokens, flat.index_select(0, group.real))
        cache.append(keys, values, layout, before)
        if chunks.single is not None:
            rows, tokens = chunks.single.rows, chunks.single.tokens
            held = cache if rows is None else cache.select(rows)
            mixed = self._decode(queries.index_select(0, tokens), held, chunks.single.moment)
            out.index_copy_(0, tokens, mixed)
        return out

    def decided(self, cache: KeyValueCache) -> Decided | None:
        narrower = self.window is not None and self.window < cache.slots
        return None if narrower else Decided.of(cache)

    def step(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        cache: KeyValueCache,
        moment: Moment,
    ) -> Tensor:
        cache.append_one(keys, values, moment)
        return self._decode(queries, cache, moment)

    def _decode(self, queries: Tensor, cache: KeyValueCache, moment: Moment) -> Tensor:
        out, _ = ops.attention_decode(
            queries.unsqueeze(2),
            cache.keys,
            cache.values,
            moment,
            scale=self.scale,
            window=self.window,
            need_lse=False,
        )
        return out.squeeze(2)
