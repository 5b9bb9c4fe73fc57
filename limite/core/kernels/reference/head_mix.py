"""The own value's removal and the head gate as their formulas say."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.reference.rms_norm import widened

SHORTEST = 1e-4
"""A value shorter than this is not brought to unit length, but divided by this."""


def head_mix(outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None) -> Tensor:
    mixed = widened(outputs)  # [..., H, D]
    kind = mixed.dtype
    if alpha is not None:
        wide = widened(values)  # [..., K, D]
        length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        unit = wide / length.clamp(min=SHORTEST)
        unit = unit.repeat_interleave(outputs.shape[-2] // values.shape[-2], -2)  # [..., H, D]
        along = (mixed * unit).sum(-1, keepdim=True)
        mixed = mixed - alpha.to(kind).tanh()[:, None] * along * unit
    if gates is not None:
        mixed = mixed * (2.0 * gates.to(kind).sigmoid())[..., None]
    return mixed.to(outputs.dtype)
