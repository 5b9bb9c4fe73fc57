"""One query per row over its cache, from the formula."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.moment import Moment


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
    """``softmax(scale q.k) v`` over the visible slots; see ``ops.attention_decode``."""
    dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    heads, kv_heads, slots = q.shape[1], k_cache.shape[1], k_cache.shape[2]
    last = moment.lengths[:, None] - 1  # [B, 1] the query's position
    distance = (last - torch.arange(slots, device=q.device)) % max(slots, 1)  # [B, S]
    seen = distance <= last  # the position last - distance is there
    if window is not None:
        seen = seen & (distance < window)
    seen = seen[:, None, None]  # [B, 1, 1, S]
    # Whatever lies in the other slots, NaN perhaps, counts for nothing.
    k, v = (
        x.to(dtype).masked_fill(~seen.transpose(2, 3), 0).repeat_interleave(heads // kv_heads, 1)
        for x in (k_cache, v_cache)
    )
    scores = (q.to(dtype) @ k.transpose(2, 3)) * scale  # [B, H, 1, S]
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    lse = scores.masked_fill(~seen, -torch.inf).logsumexp(-1)  # [B, H, 1]
    weights = (scores - lse[..., None]).exp().masked_fill(~seen, 0)
    return (weights @ v).to(q.dtype), lse if need_lse else None
