"""Softmax attention as it is defined: all scores at once."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.segments import Segments, spans, visible


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float,
    window: int | None = None,
    segments: Segments | None = None,
    softcap: float | None = None,
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """``softmax(scale q kᵀ) v`` over the visible keys, in float32 (float64), rounded once."""
    queries, keys = q.shape[2], k.shape[2]
    seen = visible(queries, keys, window=window, segments=segments, device=q.device)[:, None]
    if segments is not None:
        padding = spans(segments).padding[:, None, :, None]  # [B, 1, Tk, 1]
        q = q.masked_fill(padding[:, :, keys - queries :], 0)
        k, v = k.masked_fill(padding, 0), v.masked_fill(padding, 0)
    wide = torch.promote_types(q.dtype, torch.float32)
    group = q.shape[1] // k.shape[1]
    every_k = k.to(wide).repeat_interleave(group, 1)  # [B, H, Tk, D]
    every_v = v.to(wide).repeat_interleave(group, 1)
    scores = scale * (q.to(wide) @ every_k.mT)  # [B, H, Tq, Tk]
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    blind = ~seen.any(-1)  # [B or 1, 1, Tq]: padding sees nothing, and no -inf may be all there is
    scores = scores.masked_fill(~(seen | blind[..., None]), -torch.inf)
    lse = scores.logsumexp(-1)  # [B, H, Tq]
    out = (scores - lse[..., None]).exp() @ every_v  # [B, H, Tq, D]
    out = out.masked_fill(blind[..., None], 0).to(q.dtype)
    return out, lse.masked_fill(blind, -torch.inf) if need_lse else None
