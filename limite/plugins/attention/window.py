"""Softmax attention over all, or over the last few, tokens of a row."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.slots import bucket
from limite.core.model.attention import AttentionMixer
from limite.core.model.spec import AttentionShape
from limite.plugins.attention.chunks import band, chunk_groups
from limite.plugins.attention.keyvalue import KeyValueCache
from limite.plugins.attention.short import attend_short, short_bias
from limite.plugins.attention.stretches import Stretches, attend_stretches, cut

SHORT = 192
"""Rows up to this many tokens keep their attention weights for the backward pass."""

NARROW = 64
"""Windows up to this many tokens are worked through in stretches."""


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
        plain = queries.dtype.itemsize >= 4
        if plain and self.window is not None and self.window <= NARROW:
            stretches, bias = self._stretches(layout, self.window, queries.dtype)
            return attend_stretches(queries, keys, values, stretches, bias, self.scale)
        if plain and layout.longest <= SHORT:
            biases = self._biases(layout, queries.dtype)
            return attend_short(queries, keys, values, layout, biases, self.scale)
        blocks = zip(layout.pad(queries), layout.pad(keys), layout.pad(values), strict=True)
        return layout.unpad([self._attend_block(*block) for block in blocks])

    def _stretches(
        self, layout: Layout, window: int, dtype: torch.dtype
    ) -> tuple[Stretches, Tensor]:
        groups = self.heads // self.kv_heads
        memo = ("stretches", window, self.kv_heads, groups, dtype)
        if memo not in layout.memo:
            found = cut(layout, window, dtype)
            bias = found.bias.repeat_interleave(self.kv_heads, 0).repeat_interleave(groups, 1)
            layout.memo[memo] = found, bias
        stretches: tuple[Stretches, Tensor] = layout.memo[memo]
        return stretches

    def _biases(self, layout: Layout, dtype: torch.dtype) -> list[Tensor]:
        groups = self.heads // self.kv_heads
        memo = ("biases", self.window, groups, dtype)
        if memo not in layout.memo:
            layout.memo[memo] = [
                short_bias(
                    band(block.length, self.window or block.length, layout.device), groups, dtype
                )
                for block in layout.blocks
            ]
        biases: list[Tensor] = layout.memo[memo]
        return biases

    def _attend_block(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """One padded block ``[b, T, heads, D]``, padding at the right."""
        length, window = queries.shape[1], self.window
        if window is None or window >= length:
            return self._attend(queries, keys, values, None)
        if length < 4 * window:
            return self._attend(queries, keys, values, band(length, window, queries.device))
        return self._attend_windows(queries, keys, values, window)

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

    def _attend_windows(self, queries: Tensor, keys: Tensor, values: Tensor, window: int) -> Tensor:
        """Stretches of ``window`` queries against their own and the one before: linear in T."""
        rows, length = queries.shape[:2]
        stretches = -(-length // window)
        rest = stretches * window - length

        def cut(x: Tensor) -> Tensor:
            return x.reshape(rows * stretches, window, *x.shape[2:])

        def own(x: Tensor) -> Tensor:
            return cut(F.pad(x, (0, 0, 0, 0, 0, rest)))

        def pairs(x: Tensor) -> Tensor:
            earlier = F.pad(x, (0, 0, 0, 0, window, rest))[:, : stretches * window]
            return torch.cat((cut(earlier), own(x)), dim=1)

        distance = band(2 * window, window, queries.device)[window:]  # [window, 2 * window]
        first = distance.clone()
        first[:, :window] = False  # nothing stands before the first stretch
        mask = torch.stack((first, *[distance] * (stretches - 1))).repeat(rows, 1, 1)[:, None]
        out = self._attend(own(queries), pairs(keys), pairs(values), mask)
        return out.reshape(rows, stretches * window, *out.shape[2:])[:, :length]

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
        cache.append_one(keys, values, moment)
        out, _ = ops.attention_decode(
            queries.unsqueeze(2),
            cache.transposed_keys,
            cache.values,
            moment,
            scale=self.scale,
            window=self.window,
            need_lse=False,
        )
        return out.squeeze(2)
