"""One query per row over its cache: batched products over fixed tiles of slots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import attrs
import torch
from torch import Tensor

from limite.core.kernels.moment import Moment
from limite.core.kernels.slots import TILE, tiles


@attrs.define(eq=False)
class Stretch:
    """One tile of a cache, at one step."""

    start: int
    stop: int
    bias: Tensor  # [B * K, 1, slots], 0 where a row sees it, else -inf; [1, 1, slots]: all seen
    blank: Tensor | None  # [B * K, 1, 1] rows that see nothing of it, if there are any


@attrs.define(eq=False)
class Sight:
    """What the rows see of a cache at one step, the same in every layer of its kind."""

    stretches: Sequence[Stretch]
    bare: Tensor | None  # [B * K, 1, 1] rows that see nothing at all, if there are any


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
    _, kv_heads, slots, _ = v_cache.shape
    dtype = q.dtype
    wide = dtype if dtype.itemsize >= 4 else torch.float32
    if not q.numel():
        endless = q.new_full((rows, heads, 1), -torch.inf, dtype=wide)
        return torch.zeros_like(q), endless if need_lse else None
    keys = k_cache.mT.flatten(0, 1)  # [B * K, D, S]
    values = v_cache.flatten(0, 1)  # [B * K, S, D]
    grouped = q.reshape(rows * kv_heads, heads // kv_heads, width)
    if wide != dtype:
        grouped = grouped.to(wide)
    sight = _sight(moment, slots, kv_heads, window, wide)
    several = len(sight.stretches) > 1
    outs: list[Tensor] = []
    sums: list[Tensor] = []
    for stretch in sight.stretches:
        k, v = keys, values
        if stretch.stop - stretch.start < slots:
            k, v = keys[..., stretch.start : stretch.stop], values[:, stretch.start : stretch.stop]
        if wide != dtype:
            k, v = k.to(wide), v.to(wide)
        scores = _scores(grouped, k, stretch.bias, scale, softcap)  # [B * K, G, slots]
        weights = scores.softmax(-1)
        outs.append(_cleared(weights.bmm(v), stretch.blank, 0.0))
        if several or need_lse:
            # The largest weight is exp(largest score - log-sum-exp).
            logsum = scores.amax(-1, keepdim=True).sub_(weights.amax(-1, keepdim=True).log_())
            sums.append(_cleared(logsum, stretch.blank, -torch.inf))
    out, lse = outs[0], sums[0] if sums else None
    if several:
        out, lse = joined(outs, sums, sight.bare)
    out = out.view(rows, heads, 1, width)
    if wide != dtype:
        out = out.to(dtype)
    return out, lse.view(rows, heads, 1) if need_lse and lse is not None else None


def _scores(
    grouped: Tensor, keys: Tensor, bias: Tensor, scale: float, softcap: float | None
) -> Tensor:
    if softcap is None:
        return torch.baddbmm(bias, grouped, keys, alpha=scale)
    return grouped.bmm(keys).mul_(scale / softcap).tanh_().mul_(softcap).add_(bias)


def _cleared(values: Tensor, where: Tensor | None, number: float) -> Tensor:
    return values if where is None else values.masked_fill_(where, number)


def joined(
    outs: Sequence[Tensor], sums: Sequence[Tensor], bare: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The softmax over all stretches, from those over each and their log-sum-exps.

    A stretch of which a row sees nothing takes part with a share of exactly 0: whether it is there
    at all, for the sake of other rows, changes no bit.
    """
    peak = sums[0]
    for each in sums[1:]:
        peak = torch.maximum(peak, each)
    if bare is not None:  # -inf minus -inf is no number
        peak = peak.masked_fill(bare, 0.0)
    shares = [(each - peak).exp_() for each in sums]
    total = shares[0]
    for share in shares[1:]:
        total = total + share
    lse = total.log().add_(peak)
    if bare is not None:
        total = total.masked_fill(bare, 1.0)
    out = outs[0] * (shares[0] / total)
    for each, share in zip(outs[1:], shares[1:], strict=True):
        out.addcmul_(each, share / total)
    return out, lse


def _sight(
    moment: Moment, slots: int, kv_heads: int, window: int | None, dtype: torch.dtype
) -> Sight:
    if window is not None and window >= slots:
        window = None
    name = (slots, kv_heads, window, dtype)
    found: Sight | None = moment.memo.get(name)
    if found is None:
        found = moment.memo[name] = _looked(moment, slots, kv_heads, window, dtype)
    return found


def _looked(
    moment: Moment, slots: int, kv_heads: int, window: int | None, dtype: torch.dtype
) -> Sight:
    lengths = moment.lengths
    if kv_heads > 1:
        lengths = lengths.repeat_interleave(kv_heads)
    bare = (lengths < 1)[:, None, None] if moment.shortest < 1 else None
    if window is not None:
        return Sight(_through_window(moment, lengths, slots, window, dtype), bare)
    stretches = []
    for start, stop in _live(moment, slots, None):
        size = stop - start
        bias = _staircase(size, dtype, lengths.device)
        if moment.shortest >= stop:
            stretches.append(Stretch(start, stop, bias[size:, None], None))
            continue
        seen = lengths - start if start else lengths
        if start or moment.longest > stop or moment.shortest < 0:
            seen = seen.clamp(0, size)
        blank = (seen < 1)[:, None, None] if moment.shortest <= start else None
        stretches.append(Stretch(start, stop, bias.index_select(0, seen)[:, None], blank))
    return Sight(stretches, bare)


@lru_cache(maxsize=16)
def _staircase(size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """What hides all slots but the first n: ``[size + 1, size]``, a row for each n."""
    with torch.inference_mode(False):  # it outlives the caller's mode
        return torch.full((size + 1, size), -torch.inf, dtype=dtype, device=device).triu_()


def _through_window(
    moment: Moment, lengths: Tensor, slots: int, window: int, dtype: torch.dtype
) -> list[Stretch]:
    column = lengths[:, None]  # [B * K, 1]
    last = (column - 1) % slots  # the slot of each row's last token
    stretches = []
    for start, stop in _live(moment, slots, window):
        distance = last - torch.arange(start, stop, device=lengths.device)
        distance += (distance < 0) * slots  # since the token in the slot
        dark = distance >= column.clamp(max=window)
        bias = torch.zeros(dark.shape, dtype=dtype, device=lengths.device)
        bias.masked_fill_(dark, -torch.inf)
        blank = dark.all(-1)[:, None, None]
        stretches.append(Stretch(start, stop, bias[:, None], blank if bool(blank.any()) else None))
    return stretches


def _live(moment: Moment, slots: int, window: int | None) -> list[tuple[int, int]]:
    """The tiles in which any row sees something. Leaving out others changes no bit."""
    if slots < TILE:  # a ring, always this size
        return [(0, slots)]
    first = 0
    if window is not None and window < moment.longest <= slots:
        first = moment.shortest - window
    live = [each for each in tiles(slots) if each[0] < moment.longest and first < each[1]]
    return live or [(0, TILE)]
