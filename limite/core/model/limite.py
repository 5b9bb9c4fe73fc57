"""The Limite decoder."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.ops import rms_norm
from limite.core.kinds import Attention
from limite.core.model.block import Block
from limite.core.model.branches import Branches
from limite.core.model.cache import Cache
from limite.core.model.decoder import Decoder, Note
from limite.core.model.mudd import Mudd
from limite.core.model.rope import Rotary
from limite.core.model.self_attention import Pass
from limite.core.model.spec import ModelSpec
from limite.core.model.step import StepWeights, step
from limite.core.model.weights import Matrix


class LimiteDecoder(Decoder):
    """The architecture of the published Limite checkpoints, at any size."""

    operations = (
        "rms_norm",
        "add_rms_norm",
        "qk_norm_rope",
        "swiglu",
        "head_mix",
        "indexed_logprob",
    )

    def __init__(
        self, spec: ModelSpec, attention: Attention, *, dtype: torch.dtype = torch.float32
    ) -> None:
        spec = spec.filled()
        assert spec.padded_vocabulary is not None
        assert spec.value_heads is not None
        assert spec.value_width is not None
        assert spec.rope_pairs is not None
        assert spec.mudd_layers is not None
        assert spec.mudd_taps is not None
        super().__init__(spec)
        self.spec: ModelSpec = spec
        self.embed_tokens = Matrix(spec.padded_vocabulary, spec.width, dtype)
        self.value_embeds: Matrix | None = None
        if spec.value_layers:
            columns = spec.value_heads * spec.value_width
            self.value_embeds = Matrix(spec.padded_vocabulary, columns, dtype)
        self.layers = nn.ModuleList(
            Block(spec, layer, attention, dtype) for layer in range(spec.layers)
        )
        self.mudd: Mudd | None = None
        self.taps = dict(zip(spec.mudd_layers, spec.mudd_taps, strict=True))
        if self.taps:
            self.mudd = Mudd(
                spec.width,
                spec.layers,
                len(spec.mudd_taps[0]),
                spec.mudd_width,
                spec.mudd_residual,
                dtype,
            )
        self.tapped = {state for states in spec.mudd_taps for state in states}
        self.rotary = Rotary(pairs=spec.rope_pairs, base=spec.rope_base, context=spec.context)

    def step_weights(self) -> StepWeights | None:
        """None in half precision, which keeps every rounding of the long way."""
        return StepWeights.take(self) if self.dtype.itemsize >= 4 else None

    def _step(self, weights: Any, tokens: Tensor, cache: Cache) -> Tensor:
        return step(self, weights, tokens, cache)

    def embed(self, tokens: Tensor) -> Tensor:
        """The normalised token embeddings, ``[N, width]``."""
        table = self.embed_tokens.weight
        if len(table) <= len(tokens):  # fewer rows to normalise, and the same numbers
            return F.embedding(tokens, rms_norm(table))
        return rms_norm(F.embedding(tokens, table))

    def value_rows(self, tokens: Tensor) -> Tensor | None:
        """The value embeddings ``[N, kv_heads, D]``: stored heads cut, channels padded with 0."""
        if self.value_embeds is None:
            return None
        return self._shaped(F.embedding(tokens, self.value_embeds.weight))

    def value_table(self) -> Tensor | None:
        """``value_rows`` of every id, ``[V, kv_heads * D]``."""
        if self.value_embeds is None:
            return None
        return self._shaped(self.value_embeds.weight).flatten(1)

    def _shaped(self, rows: Tensor) -> Tensor:
        spec = self.spec
        assert spec.value_width is not None
        rows = rows.unflatten(-1, (-1, spec.value_width))[:, : spec.kv_heads]
        return F.pad(rows, (0, spec.head_width - spec.value_width))

    def _run(
        self,
        tokens: Tensor,
        layout: Layout | Branches | Moment,
        positions: Tensor,
        cache: Cache | None,
        note: Note | None = None,
    ) -> Tensor:
        shared = Pass(layout, self.rotary.at(positions), self.value_rows(tokens), cache)
        stream = self.embed(tokens)
        normal = rms_norm(stream)
        history = {0: stream}
        for layer, block in enumerate(self.layers):
            inputs, base = normal, stream
            if layer in self.taps:
                assert self.mudd is not None
                states = [history.get(state, stream) for state in self.taps[layer]]
                mixture, base = self.mudd(layer, stream, normal, states)
                inputs = rms_norm(mixture)
            stream, normal = self.through(block, inputs, base, shared)
            if layer + 1 in self.tapped:
                history[layer + 1] = stream
            if note is not None:
                note(layer, inputs, stream)
        return normal
