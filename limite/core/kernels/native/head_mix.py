"""The own value's removal and the head gate, compiled: one pass forward, one backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.native.library import Argument, dense, parts, run
from limite.core.kernels.native.rope import heads_of
from limite.core.kernels.reference.head_mix import SHORTEST

WORK = 2
"""Times as long as what ``parts`` counts in, for an element."""


def _given(
    outputs: Tensor, values: Tensor, strength: Tensor | None, gates: Tensor | None
) -> tuple[int, list[Argument]]:
    """The tokens there are, and the arguments of either kernel."""
    heads, width, kv_heads = outputs.shape[-2], outputs.shape[-1], values.shape[-2]
    y, v = heads_of(outputs), heads_of(values.float())
    if gates is not None:
        gates = gates.float()
        if gates.dim() != 2 or gates.stride(1) != 1:
            gates = gates.reshape(-1, heads).contiguous()
    return len(y), [
        y,
        y.stride(0),
        y.stride(1),
        v,
        v.stride(0),
        v.stride(1),
        strength,
        gates,
        0 if gates is None else gates.stride(0),
        heads,
        heads // kv_heads,
        width,
        SHORTEST,
    ]


def _strength(alpha: Tensor | None) -> Tensor | None:
    return None if alpha is None else dense(alpha).tanh()


class _HeadMix(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None
    ) -> Tensor:
        ctx.save_for_backward(outputs, values, alpha, gates)
        return head_mix_forward(outputs, values, alpha, gates)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        outputs, values, alpha, gates = ctx.saved_tensors
        strength = _strength(alpha)
        tokens, given = _given(outputs, values, strength, gates)
        bounds = parts(tokens, 3 * outputs.numel() * WORK)
        d_outputs = outputs.new_empty(outputs.shape)
        d_values = d_gates = d_alpha = sums = None
        if strength is not None:
            d_values = outputs.new_empty(values.shape)
            sums = outputs.new_empty(len(bounds) - 1, 2, outputs.shape[-2])
        if gates is not None:
            d_gates = outputs.new_empty(gates.shape)
        up = dense(gradient)
        run("head_mix_backward", bounds, up, *given, d_outputs, d_values, d_gates, sums)
        if sums is not None:
            assert strength is not None
            d_alpha = ((strength * strength - 1.0) * sums[:, 0].sum(0)).to(alpha.dtype)
        return (
            d_outputs,
            None if d_values is None else d_values.to(values.dtype),
            d_alpha,
            None if d_gates is None else d_gates.to(gates.dtype),
        )


def head_mix_forward(
    outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None
) -> Tensor:
    """The mixed heads ``[..., H, D]``."""
    result = outputs.new_empty(outputs.shape)
    tokens, given = _given(outputs, values, _strength(alpha), gates)
    run("head_mix", parts(tokens, outputs.numel() * WORK), *given, result)
    return result


def head_mix(outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None) -> Tensor:
    """``(y - tanh(alpha) (y . v) v) * 2 sigmoid(gate)``, v the token's own value at unit length."""
    given = (outputs, values, alpha, gates)
    if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in given):
        result: Tensor = _HeadMix.apply(*given)  # type: ignore[no-untyped-call]
        return result
    return head_mix_forward(*given)
