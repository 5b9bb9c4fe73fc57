"""What a Limite block does to each head's output: XSA, then the head gate."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.model.norm import widened

EPSILON = 1e-4
"""A value shorter than this is not brought to unit length, but divided by this."""


def _dot(left: Tensor, right: Tensor) -> Tensor:
    return (left * right).sum(-1, keepdim=True)


class _HeadMix(torch.autograd.Function):
    """Inside: outputs ``[N, K, G, D]``, values ``[N, K, 1, D]``, the rest ``[N, K, G, 1]``."""

    @staticmethod
    def forward(
        ctx: Any, outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None
    ) -> Tensor:
        count, heads, width = outputs.shape
        shape = (count, values.shape[1], heads // values.shape[1], width)
        mixed = outputs.view(shape)
        gate = None if gates is None else gates.sigmoid().mul_(2.0).view(*shape[:3], 1)
        ctx.shape, ctx.kinds = shape, (values.dtype, None if gates is None else gates.dtype)
        if alpha is None:
            ctx.save_for_backward(outputs, alpha, gate, None, None, None, None)
        else:
            unit, length = _unit(values)
            bounded = alpha.tanh().view(1, shape[1], shape[2], 1)
            along = _dot(widened(mixed), unit)
            ctx.save_for_backward(outputs, alpha, gate, unit, length, along, bounded)
            strength = along * bounded
            if outputs.dtype.itemsize < 4:
                mixed = mixed - (strength * unit).to(mixed.dtype)
            else:
                mixed = torch.addcmul(mixed, strength, unit, value=-1)
        if gate is not None:
            mixed = mixed * gate if alpha is None else mixed.mul_(gate)
        return mixed.view_as(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        outputs, alpha, gate, unit, length, along, bounded = ctx.saved_tensors
        value_kind, gate_kind = ctx.kinds
        wide = widened(gradient.reshape(ctx.shape))
        mixed = widened(outputs).view(ctx.shape)
        gate = None if gate is None else widened(gate)
        d_gate = _dot(wide, mixed)
        d_outputs = wide if gate is None else wide * gate
        d_values = d_alpha = d_gates = None
        if alpha is not None:
            pushed = _dot(wide, unit)
            both = along * pushed  # [N, K, G, 1]
            factor = bounded if gate is None else bounded * gate
            d_gate.addcmul_(bounded, both, value=-1)
            d_outputs = torch.addcmul(d_outputs, factor * pushed, unit, value=-1)
            d_bounded = (both if gate is None else both * gate).sum(0, keepdim=True)
            d_alpha = (bounded * bounded - 1).mul_(d_bounded).flatten().to(alpha.dtype)
            # The gradient of the unit vector, less its part along the vector where the length
            # is what was divided by.
            change = (wide * (factor * along)).addcmul_(mixed, factor * pushed)
            inward = (factor * both).sum(2, keepdim=True).mul_(2.0).mul_(length > EPSILON)
            d_values = (inward * unit).sub_(change.sum(2, keepdim=True))
            d_values = d_values.div_(length.clamp(min=EPSILON)).squeeze(2).to(value_kind)
        if gate is not None:
            # d(2 sigmoid) = 2 sigmoid (1 - sigmoid), by gate = 2 sigmoid
            d_gates = d_gate.mul_(gate * (2.0 - gate)).mul_(0.5)
            d_gates = d_gates.flatten(1).to(gate_kind)
        return d_outputs.reshape(outputs.shape).to(outputs.dtype), d_values, d_alpha, d_gates


def _unit(values: Tensor) -> tuple[Tensor, Tensor]:
    """Values ``[N, K, D]`` at unit length ``[N, K, 1, D]``, and their length before."""
    wide = widened(values)
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    return (wide / length.clamp(min=EPSILON)).unsqueeze(2), length.unsqueeze(2)


def head_mix(outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None) -> Tensor:
    """``(y - tanh(alpha) (y . v) v) * 2 sigmoid(gate)``, v the token's own value at unit length.

    ``outputs [N, heads, D]``, ``values [N, kv_heads, D]``, ``alpha [heads]``, ``gates [N, heads]``;
    without ``alpha`` or ``gates`` that half is left out. XSA runs in float32.
    """
    if alpha is None and gates is None:
        return outputs
    result: Tensor = _HeadMix.apply(outputs, values, alpha, gates)  # type: ignore[no-untyped-call]
    return result
