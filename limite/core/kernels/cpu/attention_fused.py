"""Attention by torch's own fused operator, which is fastest where it fits.

It takes no window and gives no log-sum-exp. A window is a mask over rows of a few windows; longer
rows are cut into stretches, which makes work linear in their length.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

FEW_WINDOWS = 4
SHORT = 128
"""Rows of up to so many windows, or tokens, are masked, longer ones cut."""


def fused(q: Tensor, k: Tensor, v: Tensor, scale: float, window: int | None) -> Tensor:
    """The output alone; as many queries as keys, ``[B, heads, T, D]``."""
    length = q.shape[2]
    if window is None:
        return _attend(q, k, v, scale, None)
    if length < max(SHORT, FEW_WINDOWS * window):
        return _attend(q, k, v, scale, _band(length, window, q.device))
    return _in_stretches(q, k, v, scale, window)


def _attend(q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None) -> Tensor:
    """Without a mask causal."""
    return F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=mask,
        is_causal=mask is None,
        scale=scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )


def _band(length: int, window: int, device: torch.device) -> Tensor:
    """``[T, T]`` bool: which keys each query sees, the last ``window`` up to itself."""
    place = torch.arange(length, device=device)
    distance = place[:, None] - place
    return (distance >= 0) & (distance < window)


def _in_stretches(q: Tensor, k: Tensor, v: Tensor, scale: float, window: int) -> Tensor:
    """Stretches of ``window`` queries against their own keys and those of the one before."""
    rows, heads, length, _ = q.shape
    stretches = -(-length // window)
    rest = stretches * window - length

    def cut(x: Tensor, before: int, after: int) -> Tensor:
        """``[B * stretches, heads, window, D]``, after zeros on either side."""
        tokens = F.pad(x.transpose(1, 2), (0, 0, 0, 0, before, after))
        tokens = tokens[:, : stretches * window]
        return tokens.reshape(rows * stretches, window, *tokens.shape[2:]).transpose(1, 2)

    def pairs(x: Tensor) -> Tensor:
        return torch.cat((cut(x, window, rest), cut(x, 0, rest)), dim=2)

    distance = _band(2 * window, window, q.device)[window:]  # [window, 2 * window]
    first = distance.clone()
    first[:, :window] = False  # nothing stands before the first stretch
    mask = torch.stack((first, *[distance] * (stretches - 1))).repeat(rows, 1, 1)[:, None]
    out = _attend(cut(q, 0, rest), pairs(k), pairs(v), scale, mask)
    tokens = out.transpose(1, 2).reshape(rows, stretches * window, heads, -1)
    return tokens[:, :length].transpose(1, 2)
