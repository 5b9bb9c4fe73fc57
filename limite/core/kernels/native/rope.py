"""The turn of every head, compiled."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.native.library import dense, parts, run
from limite.core.kernels.rotation import Rotation


def turned(x: Tensor, rotation: Rotation, *, back: bool) -> Tensor:
    """``x [..., heads, D]`` turned, by the opposite angle for ``back``, in new memory."""
    result = x.new_empty(x.shape)
    heads, width = x.shape[-2:]
    x = heads_of(x)
    cos, sin = tables(rotation)
    run(
        "rope",
        parts(len(x), 2 * x.numel()),
        x,
        heads,
        x.stride(0),
        x.stride(1),
        cos,
        sin,
        rotation.pairs,
        width,
        int(rotation.style == "halves"),
        -1.0 if back else 1.0,
        result,
    )
    return result


def heads_of(x: Tensor) -> Tensor:
    """``[..., heads, D]`` as ``[N, heads, D]``, channels side by side; copied if it does not lie
    so."""
    if x.dim() == 3 and x.stride(-1) == 1:
        return x
    return x.contiguous().view(-1, *x.shape[-2:])


def tables(rotation: Rotation) -> tuple[Tensor, Tensor]:
    """Cosines and sines of each token, dense, in float32."""
    found: tuple[Tensor, Tensor] | None = rotation.memo.get("dense")
    if found is None:
        found = rotation.memo["dense"] = dense(rotation.cos), dense(rotation.sin)
    return found


class _Rope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rotation: Rotation) -> Tensor:
        ctx.rotation = rotation
        return turned(x, rotation, back=False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return turned(gradient, ctx.rotation, back=True), None


def rope(x: Tensor, rotation: Rotation) -> Tensor:
    """Every head turned by its token's position."""
    if torch.is_grad_enabled() and x.requires_grad:
        result: Tensor = _Rope.apply(x, rotation)  # type: ignore[no-untyped-call]
        return result
    return turned(x, rotation, back=False)
