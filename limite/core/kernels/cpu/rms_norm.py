"""The norm and the residual join, in few passes of plain torch."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.reference.rms_norm import cast, widened


def inverse_rms(wide: Tensor, eps: float) -> Tensor:
    """``(mean(x^2) + eps)^-1/2`` over the last axis, kept as an axis of 1."""
    norm = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    epsilon = _scalar(eps, norm.dtype, norm.device)
    return torch.addcmul(epsilon, norm, norm, value=1.0 / max(wide.shape[-1], 1)).rsqrt_()


@functools.cache
def _scalar(number: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """As a tensor: a Python number would be made into one at every call."""
    with torch.inference_mode(False):  # it outlives the caller's mode
        return torch.tensor(number, dtype=dtype, device=device)


def norm_backward(gradient: Tensor, wide: Tensor, inverse: Tensor) -> Tensor:
    """The gradient of ``x r(x)``: ``r (g - y mean(g y))`` with ``y = r x``; all of them wide."""
    share = (gradient * wide).sum(-1, keepdim=True)
    share.mul_(inverse * inverse * inverse).mul_(1.0 / max(wide.shape[-1], 1))
    return (gradient * inverse).addcmul_(wide, share, value=-1)


def rms_norm_forward(x: Tensor, weight: Tensor | None, *, eps: float) -> tuple[Tensor, Tensor]:
    """The norm, and the inverse of the root mean square, wide, ``[..., 1]``."""
    wide = widened(x)
    inverse = inverse_rms(wide, eps)
    normal = wide * inverse
    if weight is not None:
        normal.mul_(cast(weight, normal.dtype))
    return cast(normal, x.dtype), inverse


def rms_norm_backward(
    gradient: Tensor, x: Tensor, weight: Tensor | None, inverse: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Gradients of ``x``, wide, and of ``weight``."""
    wide, g = widened(x), widened(gradient)
    d_weight = None
    if weight is not None:
        along = (g * inverse).mul_(wide).reshape(-1, x.shape[-1])
        d_weight = along.sum(0).to(weight.dtype)
        g = g * cast(weight, g.dtype)
    return norm_backward(g, wide, inverse), d_weight


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
        normal, inverse = rms_norm_forward(x, weight, eps=eps)
        ctx.save_for_backward(x, weight, inverse)
        return normal

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, inverse = ctx.saved_tensors
        d_x, d_weight = rms_norm_backward(gradient, x, weight, inverse)
        return d_x.to(x.dtype), d_weight, None


def rms_norm(x: Tensor, weight: Tensor | None, *, eps: float) -> Tensor:
    """``x (mean(x^2) + eps)^-1/2``, times ``weight``, rounded once."""
    if torch.is_grad_enabled():
        result: Tensor = _RMSNorm.apply(x, weight, eps)  # type: ignore[no-untyped-call]
        return result
    if weight is None and x.dtype.itemsize >= 4:  # the least for each token of a decoding model
        return x * inverse_rms(x, eps)
    return rms_norm_forward(x, weight, eps=eps)[0]


def _rounded(scalar: Tensor, kind: torch.dtype) -> Tensor:
    """A scalar as the sum takes it: rounded to the activations' dtype, then wide, of no axes."""
    number = widened(cast(scalar, kind))
    return number.reshape(()) if number.dim() else number


def add_rms_norm_forward(
    a: Tensor,
    b: Tensor,
    keep: Tensor | None,
    add: Tensor | None,
    weight: Tensor | None,
    *,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """``keep a + add b``, its norm, and the inverse of the sum's root mean square, wide."""
    left, right = widened(a), widened(b)
    if add is not None:
        right = right * _rounded(add, a.dtype)
    if keep is not None:
        left = left * _rounded(keep, a.dtype)
        total = left.add_(right)
    else:
        total = left + right if add is None else right.add_(left)
    total = cast(total, a.dtype)
    normal, inverse = rms_norm_forward(total, weight, eps=eps)
    return total, normal, inverse


def add_rms_norm_backward(
    d_total: Tensor | None,
    d_normal: Tensor | None,
    a: Tensor | None,
    b: Tensor | None,
    keep: Tensor | None,
    add: Tensor | None,
    weight: Tensor | None,
    total: Tensor,
    inverse: Tensor,
) -> tuple[Tensor | None, ...]:
    """Gradients of ``a``, ``b``, ``keep``, ``add`` and ``weight``.

    ``a`` is asked for only beside ``keep``, ``b`` beside ``add``.
    """
    d_weight = d_keep = d_add = None
    if d_normal is None:
        assert d_total is not None
        change = widened(d_total)
    else:
        change, d_weight = rms_norm_backward(d_normal, total, weight, inverse)
        if d_total is not None:
            change.add_(d_total)
    kind, d_a, d_b = total.dtype, change, change
    flat = change.reshape(-1)
    if keep is not None:
        assert a is not None
        d_keep = torch.dot(flat, widened(a).reshape(-1)).to(keep.dtype).reshape(keep.shape)
        d_a = change * _rounded(keep, kind)
    if add is not None:
        assert b is not None
        d_add = torch.dot(flat, widened(b).reshape(-1)).to(add.dtype).reshape(add.shape)
        d_b = change * _rounded(add, kind)
    return d_a.to(kind), d_b.to(kind), d_keep, d_add, d_weight


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
        total, normal, inverse = add_rms_norm_forward(a, b, keep, add, weight, eps=eps)
        ctx.save_for_backward(
            None if keep is None else a,
            None if add is None else b,
            keep,
            add,
            weight,
            total,
            inverse,
        )
        ctx.set_materialize_grads(False)
        return total, normal

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_total: Tensor | None, d_normal: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        if d_total is None and d_normal is None:
            return (None,) * 6
        return *add_rms_norm_backward(d_total, d_normal, *ctx.saved_tensors), None


def add_rms_norm(
    a: Tensor,
    b: Tensor,
    *,
    keep: Tensor | None,
    add: Tensor | None,
    weight: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """``keep a + add b``, the scalars rounded to the dtype of ``a`` first, and its norm."""
    if torch.is_grad_enabled():
        result: tuple[Tensor, Tensor] = _AddRMSNorm.apply(a, b, keep, add, weight, eps)  # type: ignore[no-untyped-call]
        return result
    total, normal, _ = add_rms_norm_forward(a, b, keep, add, weight, eps=eps)
    return total, normal
