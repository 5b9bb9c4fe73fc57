"""One step of 2-simplicial attention over four rings on the CPU."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.cpu.simplicial_short import MASKED
from limite.core.kernels.moment import Moment
from limite.core.kernels.segments import reach


def simplicial_attention_decode(
    q: Tensor,
    k1_cache: Tensor,
    k2_cache: Tensor,
    v1_cache: Tensor,
    v2_cache: Tensor,
    moment: Moment,
    *,
    scale: float,
    window1: int | None,
    window2: int | None,
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """The output ``[B, H, 1, D]`` and log-sum-exp ``[B, H, 1]`` of each row's last token.

    As many slots are read as a window has keys (or the ring slots), however long the rows are and
    in the order of positions: a row's result depends on no other row.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    if not q.numel():
        lse = q.new_empty(q.shape[:3], dtype=wide)
        return torch.empty_like(q), lse if need_lse else None
    seen1, seen2 = reach(k1_cache.shape[2], window1), reach(k2_cache.shape[2], window2)
    if seen1 > seen2:  # the form is symmetric
        k1_cache, k2_cache, v1_cache, v2_cache = k2_cache, k1_cache, v2_cache, v1_cache
        window1, window2 = window2, window1
    with torch.no_grad():
        k1, v1, hidden1 = _last(k1_cache, v1_cache, moment, window1, wide)
        k2, v2, hidden2 = _last(k2_cache, v2_cache, moment, window2, wide)
        batch, kv_heads, short, width = k1.shape
        long = k2.shape[2]
        query = (q[:, :, 0].to(wide) * scale).unflatten(1, (kv_heads, -1))  # [B, K, G, D]
        rows = query[..., None, :] * k1[:, :, None]  # [B, K, G, short, D]
        scores = torch.bmm(rows.view(batch * kv_heads, -1, width), k2.flatten(0, 1).mT)
        scores = scores.view(batch, kv_heads, -1, short, long)
        hidden = hidden1[:, :, None] | hidden2[:, None]  # [B, short, long]
        flat = scores.masked_fill_(hidden[:, None, None], MASKED).flatten(3)
        weights = flat.softmax(-1)  # [B, K, G, short long]
        inner = torch.bmm(weights.view(batch * kv_heads, -1, long), v2.flatten(0, 1))
        out = (inner.view(rows.shape) * v1[:, :, None]).sum(-2)  # [B, K, G, D]
        empty = (moment.lengths < 1)[:, None, None]
        out = out.view(q.shape).masked_fill_(empty[..., None], 0.0).to(q.dtype)
        if not need_lse:
            return out, None
        # The largest weight is exp(its score - log-sum-exp).
        lse = (flat.amax(-1) - weights.amax(-1).log()).view(q.shape[:3])
        return out, lse.masked_fill_(empty, -torch.inf)


def _last(
    k_cache: Tensor, v_cache: Tensor, moment: Moment, window: int | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """The visible keys and values ``[B, K, W, D]`` in order, and which are before a row's start."""
    slots = k_cache.shape[2]
    seen = reach(slots, window)
    name = ("simplicial", seen, slots)
    if name not in moment.memo:
        place = moment.lengths[:, None] - torch.arange(seen, 0, -1, device=k_cache.device)
        row = torch.arange(len(place), device=k_cache.device)[:, None]
        moment.memo[name] = row, place % slots, place < 0
    row, slot, hidden = moment.memo[name]

    def read(cache: Tensor) -> Tensor:
        found = cache.transpose(1, 2)[row, slot].to(dtype)  # [B, W, K, D]
        found = found.masked_fill(hidden[:, :, None, None], 0.0)  # never written
        return found.transpose(1, 2).contiguous()

    return read(k_cache), read(v_cache), hidden
