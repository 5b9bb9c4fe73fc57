"""The own value's removal and the head gate, in few passes of plain torch."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.reference.head_mix import SHORTEST
from limite.core.kernels.reference.rms_norm import cast, widened


class Held(NamedTuple):
    """What the backward pass needs beside the inputs, wide."""

    gate: Tensor | None  # [..., K, G, 1]
    strength: Tensor | None  # [K, G, 1], tanh of alpha
    unit: Tensor | None  # [..., K, 1, D], values at unit length
    length: Tensor | None  # [..., K, 1, 1] before, but not below SHORTEST
    along: Tensor | None  # [..., K, G, 1], outputs along the unit values


def _dot(left: Tensor, right: Tensor) -> Tensor:
    return (left * right).sum(-1, keepdim=True)


def head_mix_forward(
    outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None
) -> tuple[Tensor, Held]:
    """The mixed heads ``[..., H, D]``."""
    shape, dtype = outputs.shape, outputs.dtype
    *lead, heads, width = shape
    kv_heads = values.shape[-2]
    group = heads // kv_heads
    wide = outputs if dtype.itemsize >= 4 else outputs.float()
    mixed = wide.reshape(*lead, kv_heads, group, width)  # [..., K, G, D]
    gate = strength = unit = length = along = None
    if alpha is not None:
        strength = cast(alpha, wide.dtype).tanh().view(kv_heads, group, 1)
        whole = cast(values, wide.dtype).unsqueeze(-2)
        length = torch.linalg.vector_norm(whole, dim=-1, keepdim=True).clamp_(min=SHORTEST)
        unit = whole / length
        along = _dot(mixed, unit)
        mixed = mixed.addcmul(along * strength, unit, value=-1)
    if gates is not None:
        gate = cast(gates, wide.dtype).sigmoid().view(*lead, kv_heads, group, 1)
        gate.add_(gate)  # times 2, without making a tensor of the number
        mixed = mixed * gate if alpha is None else mixed.mul_(gate)
    return cast(mixed.reshape(shape), dtype), Held(gate, strength, unit, length, along)


def head_mix_backward(
    gradient: Tensor, outputs: Tensor, held: Held
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Gradients of ``outputs``, ``values``, ``alpha`` and ``gates``, wide."""
    gate, strength, unit, length, along = held
    shape, like = outputs.shape, gate if along is None else along
    assert like is not None
    grouped = (*like.shape[:-1], shape[-1])  # [..., K, G, D]
    wide, mixed = widened(gradient).reshape(grouped), widened(outputs).reshape(grouped)
    d_gate = None if gate is None else _dot(wide, mixed)
    d_outputs = wide if gate is None else wide * gate
    d_values = d_alpha = d_gates = None
    if strength is not None:
        assert unit is not None
        assert length is not None
        assert along is not None
        pushed = _dot(wide, unit)
        both = along * pushed  # [..., K, G, 1]
        factor = strength if gate is None else strength * gate
        if d_gate is not None:
            d_gate.addcmul_(strength, both, value=-1)
        d_outputs = torch.addcmul(d_outputs, factor * pushed, unit, value=-1)
        d_strength = (both if gate is None else both * gate).reshape(-1, shape[-2]).sum(0)
        d_alpha = (strength * strength).sub_(1.0).flatten().mul_(d_strength)
        # The gradient of the unit vector, less its part along the vector where the length is what
        # was divided by.
        change = (wide * (factor * along)).addcmul_(mixed, factor * pushed)
        inward = (factor * both).sum(-2, keepdim=True).mul_(2.0).mul_(length > SHORTEST)
        d_values = (inward * unit).sub_(change.sum(-2, keepdim=True))
        d_values = d_values.div_(length).squeeze(-2)
    if d_gate is not None:
        assert gate is not None
        # d(2 sigmoid) = 2 sigmoid (1 - sigmoid), by gate = 2 sigmoid
        d_gates = d_gate.mul_(gate * (2.0 - gate)).mul_(0.5).reshape(shape[:-1])
    return d_outputs.reshape(shape), d_values, d_alpha, d_gates


class _HeadMix(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None
    ) -> Tensor:
        mixed, held = head_mix_forward(outputs, values, alpha, gates)
        ctx.save_for_backward(outputs, *held)
        ctx.kinds = [None if each is None else each.dtype for each in (values, alpha, gates)]
        return mixed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        outputs, *held = ctx.saved_tensors
        d_outputs, *others = head_mix_backward(gradient, outputs, Held(*held))
        return d_outputs.to(outputs.dtype), *(
            None if each is None else each.to(kind)
            for each, kind in zip(others, ctx.kinds, strict=True)
        )


def head_mix(outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None) -> Tensor:
    """``(y - tanh(alpha) (y . v) v) * 2 sigmoid(gate)``, v the token's own value at unit length."""
    if torch.is_grad_enabled():
        result: Tensor = _HeadMix.apply(outputs, values, alpha, gates)  # type: ignore[no-untyped-call]
        return result
    return head_mix_forward(outputs, values, alpha, gates)[0]
