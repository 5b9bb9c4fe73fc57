"""The model's table of rotary turns."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from limite.core.kernels.rotation import Rotation, RotationTable


def frequencies(pairs: int, base: float) -> Tensor:
    """``(1/base)^(j/(pairs-1))`` for each pair: from 1 down to ``1/base`` inclusive, float32."""
    return torch.tensor(1.0 / base, device="cpu") ** torch.linspace(0, 1, pairs, device="cpu")


def _tables(pairs: int, base: float, context: int) -> tuple[Tensor, Tensor]:
    # The angle is the float32 product: a more exact one rounds to other table entries.
    angle = torch.arange(context, device="cpu").float()[:, None] * frequencies(pairs, base)
    return angle.cos().bfloat16().float(), angle.sin().bfloat16().float()


class Rotary(nn.Module):
    """Cosines and sines of every position, rounded to bfloat16 whatever the model's dtype."""

    cos: Tensor
    sin: Tensor

    def __init__(self, *, pairs: int, base: float, context: int) -> None:
        super().__init__()
        device = torch.empty(0).device  # the one that torch.device(...) chose around this call
        if device.type == "meta":
            cos, sin = torch.empty(2, context, pairs).unbind()
        else:
            cos, sin = (table.to(device) for table in _tables(pairs, base, context))
        self.register_buffer("cos", cos, persistent=False)  # [context, pairs]
        self.register_buffer("sin", sin, persistent=False)  # [context, pairs]
        self._table = RotationTable(self.cos, self.sin)

    def at(self, positions: Tensor) -> Rotation:
        """The turns of tokens at ``positions [...]``: neighbouring channels, by minus theta."""
        cos = self.cos
        if self._table.cos is not cos:  # moved to another device
            self._table = RotationTable(cos, self.sin)
        return self._table.at(positions)
