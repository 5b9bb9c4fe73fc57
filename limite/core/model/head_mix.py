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
        ctx.save_for_backward(outputs, values, alpha, gates)
        half = outputs.dtype.itemsize < 4
        gate = None if gates is None else gates.sigmoid().mul_(2.0).view(*shape[:3], 1)
        if alpha is not None:
            unit, _ = _unit(values)
            strength = _dot(widened(mixed), unit) * _strength(alpha, shape)
            if half:
                mixed = mixed - (strength * unit).to(mixed.dtype)
            elif gate is None:
                mixed = torch.addcmul(mixed, strength, unit, value=-1)
            else:
                mixed = (mixed * gate).addcmul_(strength.mul_(gate), unit, value=-1)
                gate = None
        if gate is not None:
            mixed = mixed * gate
        return mixed.view_as(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        outputs, values, alpha, gates = ctx.saved_tensors
        count, heads, width = outputs.shape
        shape = (count, values.shape[1], heads // values.shape[1], width)
        wide = widened(gradient.reshape(shape))
        mixed = widened(outputs).view(shape)
        d_gates = d_values = d_alpha = None
        sigmoid = gate = None
        if gates is not None:
            sigmoid = widened(gates).sigmoid().view(*shape[:3], 1)
            gate = sigmoid * 2.0
            d_gate = _dot(wide, mixed)
        if alpha is None:
            d_outputs = wide if gate is None else wide * gate
        else:
            unit, length = _unit(values)
            bounded = _strength(alpha, shape)
            along, pushed = _dot(mixed, unit), _dot(wide, unit)
            both = along * pushed  # [N, K, G, 1]
            if gate is not None:
                d_gate = d_gate - bounded * both
            factor = bounded if gate is None else bounded * gate
            d_outputs = wide if gate is None else wide * gate
            d_outputs = torch.addcmul(d_outputs, factor * pushed, unit, value=-1)
            d_bounded = -both if gate is None else -both * gate
            slope = 1 - bounded * bounded
            d_alpha = (d_bounded.sum(0, keepdim=True) * slope).flatten().to(alpha.dtype)
            # The gradient of the unit vector, less its part along the vector where the length
            # is what was divided by.
            change = torch.addcmul(wide * along, mixed, pushed).mul_(factor.neg())
            change = change.sum(2, keepdim=True)
            inward = (factor * both).sum(2, keepdim=True).mul_(2.0).mul_(length > EPSILON)
            d_values = change.addcmul_(inward, unit).div_(length.clamp(min=EPSILON))
            d_values = d_values.view_as(values).to(values.dtype)
        if gates is not None:
            assert sigmoid is not None
            d_gates = d_gate.mul_(sigmoid - sigmoid * sigmoid).mul_(2.0)
            d_gates = d_gates.view_as(gates).to(gates.dtype)
        return d_outputs.view_as(outputs).to(outputs.dtype), d_values, d_alpha, d_gates


def _unit(values: Tensor) -> tuple[Tensor, Tensor]:
    """Values ``[N, K, D]`` at unit length ``[N, K, 1, D]``, and their length before."""
    wide = widened(values)
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    return (wide / length.clamp(min=EPSILON)).unsqueeze(2), length.unsqueeze(2)


def _strength(alpha: Tensor, shape: tuple[int, int, int, int]) -> Tensor:
    return alpha.tanh().view(1, shape[1], shape[2], 1)


def head_mix(outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None) -> Tensor:
    """``(y - tanh(alpha) (y . v) v) * 2 sigmoid(gate)``, v the token's own value at unit length.

    ``outputs [N, heads, D]``, ``values [N, kv_heads, D]``, ``alpha [heads]``, ``gates [N, heads]``;
    without ``alpha`` or ``gates`` that half is left out. XSA runs in float32.
    """
    if alpha is None and gates is None:
        return outputs
    result: Tensor = _HeadMix.apply(outputs, values, alpha, gates)  # type: ignore[no-untyped-call]
    return result
