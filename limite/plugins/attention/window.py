"""Softmax attention over all, or over the last few, tokens of a row."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from limite.core.model.attention import AttentionMixer, Moment
from limite.core.model.layout import Layout
from limite.core.model.spec import AttentionShape
from limite.plugins.attention.chunks import band, chunk_groups
from limite.plugins.attention.keyvalue import KeyValueCache, attend_step, bucket
from limite.plugins.attention.short import attend_short, short_bias

SHORT = 192
"""Rows up to this many tokens keep their attention weights for the backward pass."""


class WindowMixer(AttentionMixer):
    """``softmax(scale q.k) v`` over the visible keys; softmax in float32.

    ``window`` is the number of visible keys, the token's own included; None sees all before.
    """

    def __init__(self, shape: AttentionShape, *, window: int | None, rotary: bool) -> None:
        super().__init__()
        self.heads, self.kv_heads = shape.heads, shape.kv_heads
        self.head_width, self.scale = shape.head_width, shape.scale
        self.window, self.rotary = window, rotary

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, inputs: Tensor, layout: Layout
    ) -> Tensor:
        length = layout.longest
        window = self.window if self.window is not None and self.window < length else None
        if length <= SHORT and queries.dtype.itemsize >= 4:
            groups = self.heads // self.kv_heads
            memo = ("bias", window, groups, queries.dtype)
            if memo not in layout.memo:
                mask = band(length, window or length, layout.device)
                layout.memo[memo] = short_bias(mask, groups, queries.dtype)
            return attend_short(queries, keys, values, layout, layout.memo[memo], self.scale)
        padded = layout.pad(queries), layout.pad(keys), layout.pad(values)
        if window is None:
            out = self._attend(*padded, None)
        elif length < 4 * window:
            memo = ("band", window)
            if memo not in layout.memo:
                layout.memo[memo] = band(length, window, layout.device)
            out = self._attend(*padded, layout.memo[memo])
        else:
            out = self._attend_blocks(*padded, window)
        return layout.unpad(out)

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """``[B, T, heads, D]`` each; without a mask causal."""
        out = F.scaled_dot_product_attention(
            queries.transpose(1, 2),
            keys.transpose(1, 2),
            values.transpose(1, 2),
            attn_mask=mask,
            is_causal=mask is None,
            scale=self.scale,
            enable_gqa=self.heads != self.kv_heads,
        )
        return out.transpose(1, 2)

    def _attend_blocks(self, queries: Tensor, keys: Tensor, values: Tensor, window: int) -> Tensor:
        """Blocks of ``window`` queries against their own and the block before: linear in T."""
        rows, length = queries.shape[:2]
        blocks = -(-length // window)
        rest = blocks * window - length

        def own(x: Tensor) -> Tensor:
            x = F.pad(x, (0, 0, 0, 0, 0, rest))
            return x.reshape(rows * blocks, window, *x.shape[2:])

        def pairs(x: Tensor) -> Tensor:
            earlier = F.pad(x, (0, 0, 0, 0, window, 0))[:, :length]
            return torch.cat((own(earlier), own(x)), dim=1)

        distance = band(2 * window, window, queries.device)[window:]  # [window, 2 * window]
        first = distance.clone()
        first[:, :window] = False  # nothing stands before the first block
        mask = torch.stack((first, *[distance] * (blocks - 1))).repeat(rows, 1, 1)[:, None]
        out = self._attend(own(queries), pairs(keys), pairs(values), mask)
        return out.reshape(rows, blocks * window, *out.shape[2:])[:, :length]

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
        memo = ("groups", cache.slots, self.window)
        if memo not in layout.memo:
            layout.memo[memo] = chunk_groups(layout, before, cache.slots, self.window)
        for group in layout.memo[memo]:
            shape = (len(group.rows), group.places)
            q, k, v = (
                x.index_select(0, group.padded).view(*shape, *x.shape[1:])
                for x in (queries, keys, values)
            )
            if group.past:
                past_keys, past_values = cache.read(group.rows, group.past)
                k, v = torch.cat((past_keys, k), dim=1), torch.cat((past_values, v), dim=1)
            mixed = self._attend(q, k, v, group.mask)
            flat = mixed.reshape(-1, *mixed.shape[2:])
            out.index_copy_(0, group.tokens, flat.index_select(0, group.real))
        cache.append(keys, values, layout, before)
        return out

    def step(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        cache: KeyValueCache,
        moment: Moment,
    ) -> Tensor:
        return attend_step(queries, keys, values, cache, moment, self.scale)
