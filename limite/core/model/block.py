"""One layer of a Limite decoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from limite.core.kinds import Attention
from limite.core.model.mlp import MLP
from limite.core.model.norm import rms_norm
from limite.core.model.self_attention import Pass, SelfAttention
from limite.core.model.spec import ModelSpec
from limite.core.model.weights import small_dtype, unset


class _Join(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, base: Tensor, change: Tensor, keep: Tensor, add: Tensor) -> Tensor:
        ctx.save_for_backward(base, change, keep, add)
        return (base * keep).add_(change * add)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        base, change, keep, add = ctx.saved_tensors
        flat = gradient.reshape(-1)
        return (
            gradient * keep,
            gradient * add,
            torch.dot(flat, base.reshape(-1)),
            torch.dot(flat, change.reshape(-1)),
        )


def join(base: Tensor, change: Tensor, keep: Tensor, add: Tensor) -> Tensor:
    """``keep * base + add * change`` with scalars rounded to the dtype of the activations."""
    kind = base.dtype
    result: Tensor = _Join.apply(base, change, keep.to(kind), add.to(kind))  # type: ignore[no-untyped-call]
    return result


class Block(nn.Module):
    """Attention and feed-forward, each joined to the stream with two learned scalars."""

    def __init__(
        self, spec: ModelSpec, layer: int, attention: Attention, dtype: torch.dtype
    ) -> None:
        super().__init__()
        small = small_dtype(dtype)
        self.self_attn = SelfAttention(spec, layer, attention, dtype)
        self.mlp = MLP(spec.width, spec.mlp_width, dtype)
        self.resid_lambda_attn = unset(dtype=small)
        self.post_lambda_attn = unset(dtype=small)
        self.resid_lambda_mlp = unset(dtype=small)
        self.post_lambda_mlp = unset(dtype=small)

    def forward(self, inputs: Tensor, base: Tensor, shared: Pass) -> Tensor:
        """``inputs`` for the attention, ``base`` for the residual join, both ``[N, width]``.

        They are the same stream, except where a layer is fed by mixtures.
        """
        change = self.self_attn(rms_norm(inputs), shared)
        stream = join(base, change, self.resid_lambda_attn, self.post_lambda_attn)
        change = self.mlp(rms_norm(stream))
        return join(stream, change, self.resid_lambda_mlp, self.post_lambda_mlp)
