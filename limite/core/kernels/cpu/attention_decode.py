"""One query per row over its cache: batched products over fixed tiles of slots."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.moment import Moment
from limite.core.kernels.slots import TILE, tiles


def attention_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    moment: Moment,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    need_lse: bool,
) -> tuple[Tensor, Tensor | None]:
    """See ``ops.attention_decode``. Slots that were never written must hold finite numbers.

    Keys are best stored channel by channel, ``[B, K, D, S]``, and passed as the transposed view:
    the order in which one query is fastest multiplied with all of them.
    """
    if torch.is_grad_enabled():
        with torch.no_grad():
            return attention_decode(
                q,
                k_cache,
                v_cache,
                moment,
                scale=scale,
                window=window,
                softcap=softcap,
                need_lse=need_lse,
            )
    rows, heads, _, width = q.shape
    kv_heads, slots = v_cache.shape[1], v_cache.shape[2]
    wide = q.dtype if q.dtype.itemsize >= 4 else torch.float32
    if not q.numel():
        endless = q.new_full((rows, heads, 1), -torch.inf, dtype=wide)
        return torch.zeros_like(q), endless if need_lse else None
    count = rows * kv_heads
    keys = k_cache.transpose(2, 3).flatten(0, 1)  # [B * K, D, S]
    values = v_cache.flatten(0, 1)  # [B * K, S, D]
    grouped = q.reshape(count, heads // kv_heads, width)
    bias, bare = _bias(moment, slots, kv_heads, window, wide)
    pieces = [(keys, values, bias)]
    if slots >= TILE:
        pieces = [
            (keys[..., a:b], values[:, a:b], bias[..., a:b])
            for a, b in _live(moment, slots, window)
        ]
    if wide != q.dtype:
        grouped = grouped.to(wide)
        pieces = [(k.to(wide), v.to(wide), hidden) for k, v, hidden in pieces]
    scores = [_scores(grouped, k, hidden, scale, softcap) for k, _, hidden in pieces]
    lse: Tensor | None = None
    if slots < TILE and not need_lse:  # a ring, always this size
        out = scores[0].softmax(-1).bmm(pieces[0][1])
        if bare is not None:
            out.masked_fill_(bare, 0.0)
    else:
        out, lse = _tiled(scores, [v for _, v, _ in pieces], bare, need_lse)
    out = out.view(rows, heads, 1, width)
    if wide != q.dtype:
        out = out.to(q.dtype)
    return out, None if lse is None else lse.view(rows, heads, 1)


def _scores(
    grouped: Tensor, keys: Tensor, bias: Tensor, scale: float, softcap: float | None
) -> Tensor:
    if softcap is None:
        return torch.baddbmm(bias, grouped, keys, alpha=scale)  # [B * K, G, slots]
    return grouped.bmm(keys).mul_(scale / softcap).tanh_().mul_(softcap).add_(bias)


def _tiled(
    scores: list[Tensor], values: list[Tensor], bare: Tensor | None, need_lse: bool
) -> tuple[Tensor, Tensor | None]:
    """Tile after tile; one in which a row has nothing adds exact zeros to the row's sums."""
    peak = scores[0].amax(-1, keepdim=True)
    for part in scores[1:]:
        peak = torch.maximum(peak, part.amax(-1, keepdim=True))
    if bare is not None:  # -inf minus -inf is no number
        peak = peak.masked_fill(bare, 0.0)
    weights = [part.sub_(peak).exp_() for part in scores]
    total, out = weights[0].sum(-1, keepdim=True), weights[0].bmm(values[0])
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total, out = total + weight.sum(-1, keepdim=True), out + weight.bmm(value)
    lse = total.log().add_(peak) if need_lse else None
    return out / (total if bare is None else total.masked_fill(bare, 1.0)), lse


def _live(moment: Moment, slots: int, window: int | None) -> list[tuple[int, int]]:
    """The tiles in which any row sees something. Leaving out others changes no bit."""
    first = 0
    if window is not None and window < moment.longest <= slots:
        if "shortest" not in moment.memo:
            moment.memo["shortest"] = int(moment.lengths.min())
        first = moment.memo["shortest"] - window
    live = [each for each in tiles(slots) if each[0] < moment.longest and first < each[1]]
    return live or [(0, TILE)]


def _bias(
    moment: Moment, slots: int, kv_heads: int, window: int | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor | None]:
    """What hides slots, ``[B * K, 1, S]``, 0 or -inf; and which rows see nothing, if any do."""
    if window is not None and window >= slots:
        window = None
    memo = ("bias", slots, kv_heads, window, dtype)
    if memo not in moment.memo:
        lengths = moment.lengths
        if kv_heads > 1:
            lengths = lengths.repeat_interleave(kv_heads)
        place = torch.arange(slots, device=lengths.device)
        if window is None:
            dark = place >= lengths[:, None]
        else:
            distance = ((lengths - 1) % slots)[:, None] - place
            distance += (distance < 0) * slots  # since the token in the slot
            dark = distance >= lengths.clamp(max=window)[:, None]
        bias = torch.zeros(dark.shape, dtype=dtype, device=lengths.device)
        bias.masked_fill_(dark, -torch.inf)
        bare = (lengths < 1)[:, None, None]
        moment.memo[memo] = bias[:, None], bare if bool(bare.any()) else None
    found: tuple[Tensor, Tensor | None] = moment.memo[memo]
    return found
