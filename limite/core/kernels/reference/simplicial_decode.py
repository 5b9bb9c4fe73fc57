"""One step of 2-simplicial attention over four rings, as its formula has it."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.moment import Moment
from limite.core.kernels.reference.simplicial_attention import attend


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
    """The output ``[B, H, 1, D]`` and log-sum-exp ``[B, H, 1]`` of each row's last token."""
    with torch.no_grad():
        seen1 = visible_slots(moment.lengths, k1_cache.shape[2], window1)  # [B, S1]
        seen2 = visible_slots(moment.lengths, k2_cache.shape[2], window2)  # [B, S2]
        # A slot never written may hold anything.
        k1, v1 = (each.masked_fill(~seen1[:, None, :, None], 0.0) for each in (k1_cache, v1_cache))
        k2, v2 = (each.masked_fill(~seen2[:, None, :, None], 0.0) for each in (k2_cache, v2_cache))
        pairs = (seen1[:, :, None] & seen2[:, None, :])[:, None, None]  # [B, 1, 1, S1, S2]
        return attend(q, k1, k2, v1, v2, pairs, scale, "trilinear", q.dtype, need_lse)


def visible_slots(lengths: Tensor, slots: int, window: int | None) -> Tensor:
    """Which slots of a ring the last of ``lengths`` tokens sees: ``[B, S]`` bool.

    The token at position p lies in slot p mod S, so a slot holds the last token that fell there.
    """
    last = lengths[:, None] - 1
    back = (last - torch.arange(slots, device=lengths.device)) % max(slots, 1)  # how long ago
    seen = back <= last
    return seen if window is None else seen & (back < window)
