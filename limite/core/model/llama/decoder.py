"""The decoder of Llama, Qwen2, Qwen3 and Mistral."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.ops import rms_norm
from limite.core.kinds import Attention
from limite.core.model.branches import Branches
from limite.core.model.cache import Cache
from limite.core.model.decoder import Decoder, Note
from limite.core.model.llama.block import LlamaBlock
from limite.core.model.llama.rope import LlamaRotary
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.llama.step import LlamaStepWeights, step
from limite.core.model.self_attention import Pass
from limite.core.model.weights import Gain, Matrix


class LlamaDecoder(Decoder):
    """Plain pre-norm blocks, as the published checkpoints of these families have them.

    In half precision a norm is rounded once, after its weight, and rotary tables are not rounded;
    the families' usual implementation rounds both sooner. That is rounding noise, no other model.
    """

    operations = ("rms_norm", "add_rms_norm", "rope", "swiglu", "indexed_logprob")

    def __init__(
        self,
        spec: LlamaSpec,
        attention: Attention,
        *,
        dtype: torch.dtype = torch.float32,
        head: bool = True,
    ) -> None:
        spec = spec.filled()
        assert spec.padded_vocabulary is not None
        super().__init__(spec)
        self.spec: LlamaSpec = spec
        self.embed_tokens = Matrix(spec.padded_vocabulary, spec.width, dtype)
        self.layers = nn.ModuleList(
            LlamaBlock(spec, layer, attention, dtype) for layer in range(spec.layers)
        )
        self.norm = Gain(spec.width, dtype)
        self.lm_head: Matrix | None = None
        if head and not spec.tied_head:
            self.lm_head = Matrix(spec.padded_vocabulary, spec.width, dtype)
        self.rotary = LlamaRotary(spec.head_width, spec.rope_base, spec.rope_scaling)

    @property
    def head_weight(self) -> Tensor:
        """The output head ``[padded vocabulary, width]``: the token table, where they are tied."""
        if self.spec.tied_head:
            return self.embed_tokens.weight
        assert self.lm_head is not None, "this decoder is without its output head"
        return self.lm_head.weight

    def embed(self, tokens: Tensor) -> Tensor:
        """The token embeddings, ``[N, width]``."""
        return F.embedding(tokens, self.embed_tokens.weight)

    def step_weights(self) -> LlamaStepWeights | None:
        """None in half precision, which keeps every rounding of the long way."""
        return LlamaStepWeights.take(self) if self.dtype.itemsize >= 4 else None

    def _step(self, weights: Any, tokens: Tensor, cache: Cache) -> Tensor:
        return step(self, weights, tokens, cache)

    def _run(
        self,
        tokens: Tensor,
        layout: Layout | Branches | Moment,
        positions: Tensor,
        cache: Cache | None,
        note: Note | None = None,
    ) -> Tensor:
        shared = Pass(layout, self.rotary.at(positions), None, cache)
        stream = self.embed(tokens)
        gains = self.gains()
        normal = rms_norm(stream, gains[0], eps=self.spec.norm_epsilon)
        for layer, block in enumerate(self.layers):
            inputs = normal
            stream, normal = self.through(block, inputs, stream, gains[layer + 1], shared)
            if note is not None:
                note(layer, inputs, stream)
        return normal

    def gains(self) -> list[Tensor]:
        """The weights of the norms before each layer, and of the one after the last."""
        blocks = [block for block in self.layers if isinstance(block, LlamaBlock)]
        return [*(block.input_layernorm.weight for block in blocks), self.norm.weight]
