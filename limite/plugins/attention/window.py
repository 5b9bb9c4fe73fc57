"""Softmax attention over all, or over the last few, tokens of a row."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from limite.core.model.attention import AttentionMixer
from limite.core.model.layout import Layout
from limite.core.model.spec import AttentionShape
from limite.plugins.attention.keyvalue import KeyValueCache, band, bucket, chunk_groups


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
        mask = None
        if self.window is not None and self.window < layout.longest:
            key = ("band", self.window)
            if key not in layout.memo:
                layout.memo[key] = band(layout.longest, self.window, layout.device)
            mask = layout.memo[key]
        return layout.unpad(
            self._attend(layout.pad(queries), layout.pad(keys), layout.pad(values), mask)
        )

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

    def new_cache(
        self, rows: int, capacity: int, dtype: torch.dtype, device: torch.device
    ) -> KeyValueCache:
        slots = bucket(capacity)
        if self.window is not None:
            slots = min(slots, self.window)
        return KeyValueCache(
            torch.zeros(2, rows, self.kv_heads, slots, self.head_width, dtype=dtype, device=device)
        )

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
        memo: Any = ("groups", cache.slots, self.window)
        if memo not in layout.memo:
            layout.memo[memo] = chunk_groups(layout, before, cache.slots, self.window)
        for group in layout.memo[memo]:
            shape = (len(group.rows), group.places)
            chunk = [
                x.index_select(0, group.padded).view(*shape, *x.shape[1:])
                for x in (queries, keys, values)
            ]
            if group.past:
                # [2, b, K, P, D] to [2, b, P, K, D]
                past = cache.kv[:, group.rows, :, : group.past].transpose(2, 3)
                chunk[1] = torch.cat((past[0], chunk[1]), dim=1)
                chunk[2] = torch.cat((past[1], chunk[2]), dim=1)
            mixed = self._attend(*chunk, group.mask)
            flat = mixed.reshape(-1, *mixed.shape[2:])
            out.index_copy_(0, group.tokens, flat.index_select(0, group.real))
        cache.append(keys, values, layout, before)
        return out
