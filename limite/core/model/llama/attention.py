"""The attention part of Llama's block: everything but the mixing over tokens."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from limite.core.kernels.ops import rms_norm, rope
from limite.core.kinds import Attention
from limite.core.model.attention import mixer_of
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.self_attention import Pass
from limite.core.model.spec import AttentionShape
from limite.core.model.weights import Gain, Matrix


class LlamaAttention(nn.Module):
    """Projections, biases and norms where the spec has them, rotary."""

    def __init__(
        self, spec: LlamaSpec, layer: int, attention: Attention, dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_width = spec.heads, spec.kv_heads, spec.head_width
        self.layer, self.epsilon = layer, spec.norm_epsilon
        query_width, key_width = spec.heads * spec.head_width, spec.kv_heads * spec.head_width
        biased = spec.query_key_value_bias
        self.q_proj = Matrix(query_width, spec.width, dtype, bias=biased)
        self.k_proj = Matrix(key_width, spec.width, dtype, bias=biased)
        self.v_proj = Matrix(key_width, spec.width, dtype, bias=biased)
        self.o_proj = Matrix(spec.width, query_width, dtype, bias=spec.output_bias)
        self.q_norm = Gain(spec.head_width, dtype) if spec.query_key_norm else None
        self.k_norm = Gain(spec.head_width, dtype) if spec.query_key_norm else None
        self.mixer = mixer_of(attention, AttentionShape.of(spec, layer), dtype)

    def _heads(self, projected: Tensor, norm: Gain | None, shared: Pass) -> Tensor:
        """Queries or keys ``[N, heads, D]`` as they are compared."""
        heads = projected.unflatten(-1, (-1, self.head_width))
        if norm is not None:
            heads = rms_norm(heads, norm.weight, eps=self.epsilon)
        return rope(heads, shared.rotation) if self.mixer.rotary else heads

    def forward(self, inputs: Tensor, shared: Pass) -> Tensor:
        """``inputs [N, width]``, normalised, to ``[N, width]`` before the residual join."""
        queries = self._heads(self.q_proj(inputs), self.q_norm, shared)
        keys = self._heads(self.k_proj(inputs), self.k_norm, shared)
        values = self.v_proj(inputs).unflatten(-1, (-1, self.head_width))
        out = shared.mixed(self.mixer, self.layer, queries, keys, values, inputs)
        projected: Tensor = self.o_proj(out.flatten(1))
        return projected
