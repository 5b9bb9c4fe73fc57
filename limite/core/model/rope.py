"""Partial rotary positions, and the norm of queries and keys that goes before them."""

from __future__ import annotations

from typing import Any

import attrs
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from limite.core.model.norm import inverse_rms, rms_norm_backward, widened


def frequencies(pairs: int, base: float) -> Tensor:
    """``(1/base)^(j/(pairs-1))`` for each pair: from 1 down to ``1/base`` inclusive, float32."""
    return torch.tensor(1.0 / base, device="cpu") ** torch.linspace(0, 1, pairs, device="cpu")


def _table(head_width: int, pairs: int, base: float, context: int) -> Tensor:
    """``[context, D/2, 2]``: cos and minus sin of every position's turns."""
    # The angle is the float32 product: a more exact one rounds to other table entries.
    angle = torch.arange(context, device="cpu").float()[:, None] * frequencies(pairs, base)
    table = torch.zeros(context, head_width // 2, 2, device="cpu")
    table[..., 0] = 1.0
    table[:, :pairs, 0] = angle.cos().bfloat16().float()
    table[:, :pairs, 1] = -angle.sin().bfloat16().float()
    return table


@attrs.frozen(eq=False)
class Phase:
    """The turns of ``N`` tokens, repeated for each head: unit complex numbers, one per pair.

    Channels that do not rotate have the turn 1.
    """

    turn: Tensor  # [N, heads * D/2] complex, for rotating by minus theta
    back: Tensor  # [N, heads * D/2] complex, its conjugate


class Rotary(nn.Module):
    """The table of turns: cosines and sines rounded to bfloat16 whatever the model's dtype.

    Channels (2j, 2j+1) = (a, b) become (a cos + b sin, b cos - a sin): as complex numbers
    ``a + ib`` times ``e^(-i theta)``, theta = position * frequency.
    """

    table: Tensor

    def __init__(self, *, head_width: int, pairs: int, base: float, context: int) -> None:
        super().__init__()
        device = torch.empty(0).device  # the one that torch.device(...) chose around this call
        if device.type == "meta":
            table = torch.empty(context, head_width // 2, 2)
        else:
            table = _table(head_width, pairs, base, context).to(device)
        self.register_buffer("table", table, persistent=False)  # [context, D/2, 2]

    def phase(self, positions: Tensor, heads: int, dtype: torch.dtype) -> Phase:
        """The turns at ``positions [N]`` for ``heads`` heads side by side."""
        wide = dtype if dtype.itemsize >= 4 else torch.float32
        turn = torch.view_as_complex(self.table.index_select(0, positions).to(wide))
        turn = turn.repeat(1, heads)
        return Phase(turn, turn.conj().resolve_conj())


def rotate(values: Tensor, turn: Tensor) -> Tensor:
    """``values [N, heads, D]``, contiguous, turned in place where the dtype allows."""
    tokens, heads, width = values.shape
    if values.dtype.itemsize >= 4:
        pairs = torch.view_as_complex(values.view(tokens, heads * width // 2, 2))
        pairs.mul_(turn)
        return values
    # Half precision: each product and the sum are rounded, as the published function is defined.
    a, b = values.view(tokens, heads * width // 2, 2).unbind(-1)
    cosine, sine = turn.real.to(values.dtype), turn.imag.neg().to(values.dtype)
    return torch.stack((a * cosine + b * sine, b * cosine - a * sine), -1).view_as(values)


class _NormAndRotate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, phase: Phase | None) -> Tensor:
        wide = widened(values)
        inverse = inverse_rms(wide)
        normal = (wide * inverse).to(values.dtype).contiguous()
        ctx.save_for_backward(values, inverse)
        ctx.phase = phase
        return normal if phase is None else rotate(normal, phase.turn)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        values, inverse = ctx.saved_tensors
        wide = widened(gradient)
        if ctx.phase is not None:
            wide = rotate(wide.clone(memory_format=torch.contiguous_format), ctx.phase.back)
        return rms_norm_backward(wide, widened(values), inverse).to(gradient.dtype), None


def norm_and_rotate(values: Tensor, phase: Phase | None) -> Tensor:
    """Each head of ``[N, heads, D]`` brought to unit root mean square, then turned."""
    result: Tensor = _NormAndRotate.apply(values, phase)  # type: ignore[no-untyped-call]
    return result
