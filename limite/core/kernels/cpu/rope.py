"""The turn of every head: neighbours as complex numbers, halves in three passes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.cpu.qk_norm_rope import complex_turns
from limite.core.kernels.reference.rms_norm import cast, widened
from limite.core.kernels.rotation import Rotation


def turned(x: Tensor, rotation: Rotation, *, back: bool) -> Tensor:
    """``x [..., heads, D]`` turned, by the opposite angle for ``back``, wide, in new memory."""
    wide = widened(x)
    heads, width = wide.shape[-2:]
    if rotation.style == "adjacent" and width == 2 * rotation.pairs and wide.numel():
        turn = complex_turns(rotation, heads, width // 2, wide.dtype, back)
        pairs = torch.view_as_complex(wide.reshape(-1, heads * width // 2, 2))
        return torch.view_as_real(pairs * turn).view(wide.shape)
    cos, sin = _tables(rotation, width, wide.dtype)
    result = wide * cos
    if rotation.style == "adjacent":
        both = slice(0, 2 * rotation.pairs, 2), slice(1, 2 * rotation.pairs, 2)
    else:
        both = slice(0, rotation.pairs), slice(rotation.pairs, 2 * rotation.pairs)
    by = -1.0 if (rotation.style == "adjacent") != back else 1.0  # theta's sign
    a, b = both
    result[..., a].addcmul_(wide[..., b], sin, value=-by)
    result[..., b].addcmul_(wide[..., a], sin, value=by)
    return result


def _tables(rotation: Rotation, width: int, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """A cosine for every channel, 1 for those that stay, and sines ``[..., 1, pairs]``."""
    key = ("channels", width, kind)
    found: tuple[Tensor, Tensor] | None = rotation.memo.get(key)
    if found is None:
        cos = rotation.cos.to(kind)
        if rotation.style == "adjacent":
            channels = cos.repeat_interleave(2, -1)
        else:
            channels = torch.cat((cos, cos), -1)
        rest = cos.new_ones(*cos.shape[:-1], width - 2 * rotation.pairs)
        channels = torch.cat((channels, rest), -1)
        found = channels.unsqueeze(-2), rotation.sin.to(kind).unsqueeze(-2)
        rotation.memo[key] = found
    return found


class _Rope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rotation: Rotation) -> Tensor:
        ctx.rotation = rotation
        return cast(turned(x, rotation, back=False), x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return cast(turned(gradient, ctx.rotation, back=True), gradient.dtype), None


def rope(x: Tensor, rotation: Rotation) -> Tensor:
    """Every head turned by its token's position."""
    if torch.is_grad_enabled():
        result: Tensor = _Rope.apply(x, rotation)  # type: ignore[no-untyped-call]
        return result
    return cast(turned(x, rotation, back=False), x.dtype)
