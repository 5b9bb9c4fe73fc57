"""One layer of a Limite decoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from limite.core.kernels.ops import add_rms_norm
from limite.core.kinds import Attention
from limite.core.model.mlp import MLP
from limite.core.model.self_attention import Pass, SelfAttention
from limite.core.model.spec import ModelSpec
from limite.core.model.weights import small_dtype, unset


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

    def forward(self, inputs: Tensor, base: Tensor, shared: Pass) -> tuple[Tensor, Tensor]:
        """The stream after the layer, and its norm, both ``[N, width]``.

        ``inputs`` is what the attention reads, normalised; ``base`` what it is joined to. They are
        the norm of the stream and the stream, except where a layer is fed by mixtures.
        """
        change = self.self_attn(inputs, shared)
        stream, normal = add_rms_norm(
            base, change, keep=self.resid_lambda_attn, add=self.post_lambda_attn
        )
        change = self.mlp(normal)
        return add_rms_norm(stream, change, keep=self.resid_lambda_mlp, add=self.post_lambda_mlp)
