"""The norm and the residual join, compiled: one pass over a row that lies near the processor."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.native.library import dense, lines, parts, run

WORK = 2
"""Times as long as what ``parts`` counts in, for an element."""


def rms_norm_forward(
    x: Tensor, weight: Tensor | None, inverses: bool, *, eps: float
) -> tuple[Tensor, Tensor | None]:
    """The norm, and the inverse of each row's root mean square where asked for, ``[...]``."""
    width = x.shape[-1]
    x, inner, outer_stride, inner_stride = lines(x)
    result = x.new_empty(x.shape)
    inverse = x.new_empty(x.shape[:-1]) if inverses else None
    count = x.numel()
    run(
        "rms_norm",
        parts(count // width, count * WORK),
        x,
        inner,
        outer_stride,
        inner_stride,
        None if weight is None else dense(weight),
        eps,
        result,
        inverse,
        width,
    )
    return result, inverse


def rms_norm_backward(
    gradient: Tensor,
    d_x: Tensor | None,
    x: Tensor,
    weight: Tensor | None,
    inverse: Tensor,
    need_weight: bool,
) -> tuple[Tensor, Tensor | None]:
    """Gradients of ``x``, with ``d_x`` added, and of ``weight`` where that is needed."""
    width, count = x.shape[-1], x.numel()
    x, inner, outer_stride, inner_stride = lines(x)
    change = x.new_empty(x.shape)
    bounds = parts(count // width, 2 * count * WORK)
    sums = x.new_empty(len(bounds) - 1, 2, width) if need_weight else None
    run(
        "rms_norm_backward",
        bounds,
        dense(gradient),
        None if d_x is None else dense(d_x),
        x,
        inner,
        outer_stride,
        inner_stride,
        None if weight is None else dense(weight),
        inverse,
        change,
        sums,
        width,
    )
    if sums is None:
        return change, None
    assert weight is not None
    return change, sums[:, 0].sum(0).to(weight.dtype)


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
        normal, inverse = rms_norm_forward(x, weight, True, eps=eps)
        ctx.save_for_backward(x, weight, inverse)
        return normal

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, inverse = ctx.saved_tensors
        need = ctx.needs_input_grad[1]
        return *rms_norm_backward(gradient, None, x, weight, inverse, need), None


def rms_norm(x: Tensor, weight: Tensor | None, *, eps: float) -> Tensor:
    """``x (mean(x^2) + eps)^-1/2``, times ``weight``."""
    if torch.is_grad_enabled() and (
        x.requires_grad or (weight is not None and weight.requires_grad)
    ):
        result: Tensor = _RMSNorm.apply(x, weight, eps)  # type: ignore[no-untyped-call]
        return result
    return rms_norm_forward(x, weight, False, eps=eps)[0]


def add_rms_norm_forward(
    a: Tensor,
    b: Tensor,
    keep: Tensor | None,
    add: Tensor | None,
    weight: Tensor | None,
    inverses: bool,
    *,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """``keep a + add b``, its norm, and the inverse of the sum's root mean square."""
    width, count = a.shape[-1], a.numel()
    total, normal = a.new_empty(a.shape), a.new_empty(a.shape)
    inverse = a.new_empty(a.shape[:-1]) if inverses else None
    run(
        "add_rms_norm",
        parts(count // width, 2 * count * WORK),
        dense(a),
        dense(b),
        None if keep is None else dense(keep),
        None if add is None else dense(add),
        None if weight is None else dense(weight),
        eps,
        total,
        normal,
        inverse,
        width,
    )
    return total, normal, inverse


class _AddRMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        b: Tensor,
        keep: Tensor | None,
        add: Tensor | None,
        weight: Tensor | None,
        eps: float,
    ) -> tuple[Tensor, Tensor]:
        total, normal, inverse = add_rms_norm_forward(a, b, keep, add, weight, True, eps=eps)
        held_a, held_b = None if keep is None else a, None if add is None else b
        ctx.save_for_backward(held_a, held_b, keep, add, weight, total, inverse)
        ctx.set_materialize_grads(False)
        return total, normal

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_total: Tensor | None, d_normal: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        a, b, keep, add, weight, total, inverse = ctx.saved_tensors
        d_weight = d_keep = d_add = None
        if d_normal is not None:
            need = ctx.needs_input_grad[4]
            change, d_weight = rms_norm_backward(d_normal, d_total, total, weight, inverse, need)
        elif d_total is not None:
            change = dense(d_total)
        else:
            return (None,) * 6
        d_a, d_b, flat = change, change, change.reshape(-1)
        if keep is not None:
            d_keep = torch.dot(flat, dense(a).reshape(-1)).to(keep.dtype).reshape(keep.shape)
            d_a = change * keep.float().reshape(())
        if add is not None:
            d_add = torch.dot(flat, dense(b).reshape(-1)).to(add.dtype).reshape(add.shape)
            d_b = change * add.float().reshape(())
        return d_a, d_b, d_keep, d_add, d_weight, None


def add_rms_norm(
    a: Tensor,
    b: Tensor,
    *,
    keep: Tensor | None,
    add: Tensor | None,
    weight: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """``keep a + add b``, and its norm."""
    given = (a, b, keep, add, weight)
    if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in given):
        result: tuple[Tensor, Tensor] = _AddRMSNorm.apply(*given, eps)  # type: ignore[no-untyped-call]
        return result
    total, normal, _ = add_rms_norm_forward(*given, False, eps=eps)
    return total, normal
