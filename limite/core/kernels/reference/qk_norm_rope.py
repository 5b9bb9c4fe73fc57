"""The norm of every head, then its turn, as the formulas say."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.reference.rms_norm import rms_norm, widened
from limite.core.kernels.rotation import Rotation


def qk_norm_rope(qk: Tensor, rotation: Rotation | None, *, eps: float) -> Tensor:
    normal = rms_norm(widened(qk), None, eps=eps)  # [..., heads, D]
    if rotation is not None and rotation.pairs:
        normal = turned(normal, rotation)
    return normal.to(qk.dtype)


def turned(values: Tensor, rotation: Rotation) -> Tensor:
    """``values [..., heads, D]`` with each token's pairs of channels turned."""
    cos = rotation.cos.to(values.dtype).unsqueeze(-2)  # [..., 1, pairs]
    sin = rotation.sin.to(values.dtype).unsqueeze(-2)
    turning, rest = values[..., : 2 * rotation.pairs], values[..., 2 * rotation.pairs :]
    if rotation.style == "adjacent":
        a, b = turning.unflatten(-1, (rotation.pairs, 2)).unbind(-1)
        pairs = torch.stack((a * cos + b * sin, b * cos - a * sin), -1).flatten(-2)
    else:
        a, b = turning.split(rotation.pairs, -1)
        pairs = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
    return torch.cat((pairs, rest), -1)
