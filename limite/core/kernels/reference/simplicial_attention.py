"""2-simplicial attention as its formula has it (arXiv 2507.02754, equations 5 to 7)."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.segments import Segments, spans, visible


def simplicial_attention(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    *,
    scale: float,
    window1: int | None,
    window2: int | None,
    segments: Segments | None = None,
    form: str = "trilinear",
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """The output ``[B, H, Tq, D]`` and log-sum-exp ``[B, H, Tq]``; ``Tq x Tk x Tk`` weights."""
    queries, keys, dtype = q.shape[2], k1.shape[2], q.dtype
    if segments is not None:
        padding = spans(segments).padding[:, None, :, None]  # [B, 1, Tk, 1]
        q = q.masked_fill(padding[:, :, keys - queries :], 0.0)
        k1, k2, v1, v2 = (each.masked_fill(padding, 0.0) for each in (k1, k2, v1, v2))
    seen1, seen2 = (
        visible(queries, keys, window=window, segments=segments, device=q.device)
        for window in (window1, window2)
    )  # [B or 1, Tq, Tk]
    pairs = (seen1[:, :, :, None] & seen2[:, :, None, :])[:, None]  # [B or 1, 1, Tq, Tk, Tk]
    return attend(q, k1, k2, v1, v2, pairs, scale, form, dtype, need_lse)


def attend(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    pairs: Tensor,
    scale: float,
    form: str,
    dtype: torch.dtype,
    need_lse: bool,
) -> tuple[Tensor, Tensor | None]:
    """One softmax over the visible ``pairs [B or 1, 1, Tq, T1, T2]``; 0 and -inf where none is."""
    wide = torch.promote_types(dtype, torch.float32)
    group = q.shape[1] // k1.shape[1]
    q = q.to(wide)
    k1, k2, v1, v2 = (each.to(wide).repeat_interleave(group, 1) for each in (k1, k2, v1, v2))
    scores = scale * (trilinear if form == "trilinear" else determinant)(q, k1, k2)
    empty = ~pairs.flatten(3).any(-1)  # [B or 1, 1, Tq]
    scores = scores.masked_fill(~pairs & ~empty[..., None, None], -torch.inf).flatten(3)
    lse = scores.logsumexp(-1)  # [B, H, Tq] nats
    weights = scores.softmax(-1).unflatten(3, pairs.shape[3:])
    out = torch.einsum("bhijk,bhjd,bhkd->bhid", weights, v1, v2)
    out = out.masked_fill(empty[..., None], 0.0).to(dtype)
    return out, lse.masked_fill(empty, -torch.inf) if need_lse else None


def trilinear(q: Tensor, k1: Tensor, k2: Tensor) -> Tensor:
    """``sum_d q[i,d] k1[j,d] k2[k,d]``: ``[B, H, Tq, T1, T2]``."""
    return torch.einsum("bhid,bhjd,bhkd->bhijk", q, k1, k2)


def determinant(q: Tensor, k1: Tensor, k2: Tensor) -> Tensor:
    """``sum_l det[q_l, k1_l, k2_l]`` over triples l of channels; those left over are unused.

    By the rule of Sarrus, with channels rolled within each triple, two trilinear forms.
    """
    q, k1, k2 = (each[..., : each.shape[-1] // 3 * 3] for each in (q, k1, k2))

    def roll(x: Tensor, by: int) -> Tensor:
        return torch.unflatten(x, -1, (-1, 3)).roll(-by, -1).flatten(-2)

    return trilinear(q, roll(k1, 1), roll(k2, 2)) - trilinear(q, roll(k1, 2), roll(k2, 1))
