"""One step of 2-simplicial attention over four rings on the CPU."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from limite.core.kernels.cpu.attention_decode import joined
from limite.core.kernels.cpu.simplicial_short import MASKED
from limite.core.kernels.moment import Moment
from limite.core.kernels.segments import reach
from limite.core.kernels.slots import tiles


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

    Windows are read tile by tile, from the last token back, each tile in the order of positions.
    Tiles that no row reaches are left out, which changes no bit: what a row gets depends on its own
    tokens and the windows alone, not on other rows or on how much the caches could hold.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    if not q.numel():
        lse = q.new_empty(q.shape[:3], dtype=wide)
        return torch.empty_like(q), lse if need_lse else None
    if window1 is None or (window2 is not None and window1 > window2):  # the form is symmetric
        k1_cache, k2_cache, v1_cache, v2_cache = k2_cache, k1_cache, v2_cache, v1_cache
        window1, window2 = window2, window1
    with torch.no_grad():
        query = (q[:, :, 0].to(wide) * scale).unflatten(1, (k1_cache.shape[1], -1))  # [B, K, G, D]
        firsts = _read(k1_cache, v1_cache, moment, window1, wide)
        seconds = _read(k2_cache, v2_cache, moment, window2, wide)
        several = len(firsts) * len(seconds) > 1
        outs: list[Tensor] = []
        sums: list[Tensor] = []
        for first in firsts:
            rows = query[..., None, :] * first.keys[:, :, None]  # [B, K, G, W1, D]
            for second in seconds:
                out, lse = _mixed(rows, first, second, several or need_lse)
                outs.append(out)
                sums.append(lse)
        out, lse = joined(outs, sums, None) if several else (outs[0], sums[0])
        out, empty = out.reshape(q.shape).to(q.dtype), None
        if moment.shortest < 1:
            empty = (moment.lengths < 1)[:, None, None]
            out = out.masked_fill_(empty[..., None], 0.0)
        if not need_lse:
            return out, None
        lse = lse.reshape(q.shape[:3])
        return out, lse if empty is None else lse.masked_fill_(empty, -torch.inf)


class Tile(NamedTuple):
    """Some of the keys and values that rows see: ``[B, K, W, D]``."""

    keys: Tensor
    values: Tensor
    hidden: Tensor | None  # [B, W] those before a row's start, if there are any


def _mixed(rows: Tensor, first: Tile, second: Tile, need_lse: bool) -> tuple[Tensor, Tensor]:
    """``[B, K, G, D]`` and log-sum-exps ``[B, K, G, 1]`` over the pairs of two tiles."""
    batch, kv_heads, group, short, width = rows.shape
    long = second.keys.shape[2]
    scores = torch.bmm(rows.view(batch * kv_heads, -1, width), second.keys.flatten(0, 1).mT)
    scores = scores.view(batch, kv_heads, group, short, long)
    if first.hidden is not None:
        scores.masked_fill_(first.hidden[:, None, None, :, None], MASKED)
    if second.hidden is not None:
        scores.masked_fill_(second.hidden[:, None, None, None, :], MASKED)
    flat = scores.flatten(3)
    weights = flat.softmax(-1)  # [B, K, G, W1 W2]
    inner = torch.bmm(weights.view(batch * kv_heads, -1, long), second.values.flatten(0, 1))
    out = (inner.view(rows.shape) * first.values[:, :, None]).sum(-2)
    if not need_lse:
        return out, out
    # The largest weight is exp(its score - log-sum-exp).
    return out, flat.amax(-1, keepdim=True).sub_(weights.amax(-1, keepdim=True).log_())


def _read(
    k_cache: Tensor, v_cache: Tensor, moment: Moment, window: int | None, dtype: torch.dtype
) -> list[Tile]:
    """What rows see of a ring, in tiles: the last 64 tokens, the 64 before, ..."""
    kv_heads, slots = k_cache.shape[1:3]
    found: list[Tile] = []
    for start, stop in tiles(reach(slots, window)):
        if found and start >= moment.longest:
            break
        name = ("simplicial", start, stop, slots, kv_heads)
        if name not in moment.memo:
            moment.memo[name] = _places(moment, start, stop, slots, kv_heads)
        places, hidden = moment.memo[name]
        shape = (*k_cache.shape[:2], stop - start, k_cache.shape[3])
        keys, values = (
            cache.reshape(-1, shape[3]).index_select(0, places).view(shape).to(dtype)
            for cache in (k_cache, v_cache)
        )
        if hidden is not None:  # never written
            keys.masked_fill_(hidden[:, None, :, None], 0.0)
            values.masked_fill_(hidden[:, None, :, None], 0.0)
        found.append(Tile(keys, values, hidden))
    return found


def _places(
    moment: Moment, start: int, stop: int, slots: int, kv_heads: int
) -> tuple[Tensor, Tensor | None]:
    """Where the tokens from ``stop - 1`` to ``start`` before the last lie in a flat cache."""
    lengths = moment.lengths
    place = lengths[:, None] - torch.arange(stop, start, -1, device=lengths.device)  # [B, W]
    heads = torch.arange(0, len(place) * kv_heads * slots, slots, device=lengths.device)
    places = (heads.view(len(place), kv_heads, 1) + (place % slots)[:, None]).flatten()
    return places, place < 0 if moment.shortest < stop else None
