"""Norm and rotation of queries and keys, compiled, in one pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.native.library import Argument, dense, parts, run
from limite.core.kernels.native.rope import heads_of, tables
from limite.core.kernels.rotation import Rotation

WORK = 2
"""Times as long as what ``parts`` counts in, for an element."""


def _turns(rotation: Rotation | None) -> tuple[Tensor | None, Tensor | None, int, int]:
    """Cosines, sines, pairs of channels, and whether halves turn."""
    if rotation is None or not rotation.pairs:
        return None, None, 0, 0
    return *tables(rotation), rotation.pairs, int(rotation.style == "halves")


def _lain(x: Tensor) -> tuple[Tensor, list[Argument]]:
    x = heads_of(x)
    return x, [x, x.shape[1], x.stride(0), x.stride(1)]


def qk_norm_rope_forward(
    qk: Tensor, rotation: Rotation | None, inverses: bool, *, eps: float
) -> tuple[Tensor, Tensor | None]:
    """The turned norms, and where asked for the inverses of root mean squares ``[..., heads]``."""
    result = qk.new_empty(qk.shape)
    inverse = qk.new_empty(qk.shape[:-1]) if inverses else None
    x, lain = _lain(qk)
    cos, sin, pairs, halves = _turns(rotation)
    bounds = parts(len(x), x.numel() * WORK)
    width = qk.shape[-1]
    run("qk_norm_rope", bounds, *lain, cos, sin, pairs, width, halves, eps, result, inverse)
    return result, inverse


def qk_norm_rope_backward(
    gradient: Tensor, qk: Tensor, rotation: Rotation | None, inverse: Tensor
) -> Tensor:
    """The gradient of ``qk``: the upstream one turned back, then the norm's."""
    change = qk.new_empty(qk.shape)
    x, lain = _lain(qk)
    cos, sin, pairs, halves = _turns(rotation)
    bounds = parts(len(x), 2 * x.numel() * WORK)
    given, width = dense(gradient), qk.shape[-1]
    run(
        "qk_norm_rope_backward",
        bounds,
        given,
        *lain,
        cos,
        sin,
        pairs,
        width,
        halves,
        inverse,
        change,
    )
    return change


class _QKNormRope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qk: Tensor, rotation: Rotation | None, eps: float) -> Tensor:
        turned, inverse = qk_norm_rope_forward(qk, rotation, True, eps=eps)
        ctx.save_for_backward(qk, inverse)
        ctx.rotation = rotation
        return turned

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        qk, inverse = ctx.saved_tensors
        return qk_norm_rope_backward(gradient, qk, ctx.rotation, inverse), None, None


def qk_norm_rope(qk: Tensor, rotation: Rotation | None, *, eps: float) -> Tensor:
    """Every head at unit root mean square, turned by its token's position."""
    if torch.is_grad_enabled() and qk.requires_grad:
        result: Tensor = _QKNormRope.apply(qk, rotation, eps)  # type: ignore[no-untyped-call]
        return result
    return qk_norm_rope_forward(qk, rotation, False, eps=eps)[0]
