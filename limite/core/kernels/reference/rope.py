"""The turn of every head, as the formulas say."""

from __future__ import annotations

from torch import Tensor

from limite.core.kernels.reference.qk_norm_rope import turned
from limite.core.kernels.reference.rms_norm import widened
from limite.core.kernels.rotation import Rotation


def rope(x: Tensor, rotation: Rotation) -> Tensor:
    return turned(widened(x), rotation).to(x.dtype) if rotation.pairs else x.clone()
