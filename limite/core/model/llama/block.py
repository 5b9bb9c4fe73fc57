"""One layer of a Llama decoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from limite.core.kernels.ops import add_rms_norm
from limite.core.kinds import Attention
from limite.core.model.llama.attention import LlamaAttention
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.mlp import MLP
from limite.core.model.self_attention import Pass
from limite.core.model.weights import Gain


class LlamaBlock(nn.Module):
    """Attention and feed-forward, each of a norm of the stream and added to it."""

    def __init__(
        self, spec: LlamaSpec, layer: int, attention: Attention, dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.epsilon = spec.norm_epsilon
        self.self_attn = LlamaAttention(spec, layer, attention, dtype)
        self.mlp = MLP(spec.width, spec.mlp_width, dtype, bias=spec.mlp_bias)
        self.input_layernorm = Gain(spec.width, dtype)
        self.post_attention_layernorm = Gain(spec.width, dtype)

    def forward(
        self, inputs: Tensor, stream: Tensor, following: Tensor, shared: Pass
    ) -> tuple[Tensor, Tensor]:
        """The stream after the layer, and its norm, both ``[N, width]``.

        ``inputs`` is the norm of ``stream`` with the weight of this layer's ``input_layernorm``,
        ``following [width]`` the weight of the norm after this layer.
        """
        change = self.self_attn(inputs, shared)
        weight = self.post_attention_layernorm.weight
        stream, normal = add_rms_norm(stream, change, weight=weight, eps=self.epsilon)
        return add_rms_norm(stream, self.mlp(normal), weight=following, eps=self.epsilon)
