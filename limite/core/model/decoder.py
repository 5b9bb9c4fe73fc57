"""The Limite decoder: tokens to hidden states, whole or a little at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from limite.core.errors import LimiteError
from limite.core.kernels.layout import Layout
from limite.core.kernels.ops import indexed_logprob, rms_norm
from limite.core.kinds import Attention
from limite.core.model import head
from limite.core.model.block import Block
from limite.core.model.cache import Cache
from limite.core.model.mudd import Mudd
from limite.core.model.rope import Rotary
from limite.core.model.self_attention import Pass
from limite.core.model.spec import ModelSpec
from limite.core.model.step import StepWeights, step
from limite.core.model.weights import Matrix


class Decoder(nn.Module):
    """A language model over packed rows. Parameters carry the names of published checkpoints.

    Its values are unset: ``limite.core.model.init.build_decoder`` gives one that is ready.
    """

    def __init__(
        self, spec: ModelSpec, attention: Attention, *, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        spec = spec.filled()
        assert spec.padded_vocabulary is not None
        assert spec.vocabulary is not None
        assert spec.value_heads is not None
        assert spec.value_width is not None
        assert spec.rope_pairs is not None
        assert spec.mudd_layers is not None
        assert spec.mudd_taps is not None
        self.spec = spec
        self.vocabulary: int = spec.vocabulary
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

    @property
    def device(self) -> torch.device:
        return self.embed_tokens.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """Of matrices and activations."""
        return self.embed_tokens.weight.dtype

    def forward(self, tokens: Tensor, layout: Layout) -> Tensor:
        """``tokens [N]``, packed rows, to final hidden states ``[N, width]``, normalised."""
        self._require_context(layout.longest)
        return self._run(tokens, layout, layout.positions, None)

    def logits(self, hidden: Tensor) -> Tensor:
        """Soft-capped logits ``[..., V]`` in float32, padded ids included."""
        return head.logits(
            hidden, self.embed_tokens.weight, self.spec.cap, self.spec.head_precision
        )

    def log_probabilities(
        self,
        hidden: Tensor,
        targets: Tensor,
        *,
        temperature: float = 1.0,
        entropy: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """What ``hidden [N, width]`` gives to ``targets [N]``, and the entropy, in nats, float32.

        Over all ids, padded ones included. Logits are never stored whole.
        """
        logp, entropies, _ = indexed_logprob(
            hidden,
            self.embed_tokens.weight,
            targets[:, None],
            cap=self.spec.cap,
            temperature=temperature,
            round_logits=head.rounding(hidden.dtype, self.spec.head_precision),
            need_entropy=entropy,
        )
        return logp.squeeze(1), entropies

    @torch.no_grad()
    def new_cache(self, rows: int, capacity_tokens: int) -> Cache:
        """An empty cache for ``rows`` rows of at most ``capacity_tokens`` tokens each."""
        self._require_context(capacity_tokens)
        layers = [
            block.self_attn.mixer.new_cache(rows, capacity_tokens, self.dtype, self.device)
            for block in self._blocks()
        ]
        weights = StepWeights.take(self) if self.dtype.itemsize >= 4 else None
        return Cache(layers, [0] * rows, capacity_tokens, weights, self.device)

    @torch.no_grad()
    def extend(self, tokens: Tensor, layout: Layout, cache: Cache) -> Tensor:
        """Appends a chunk to each row (none where its length is 0); hidden ``[N, width]``."""
        cache.require_room(layout.lengths)
        positions = layout.positions + cache.lengths[layout.row_of]
        hidden = self._run(tokens, layout, positions, cache)
        cache.grow(layout.lengths)
        return hidden

    @torch.no_grad()
    def step(self, tokens: Tensor, cache: Cache) -> Tensor:
        """Appends one token ``[R]`` to each row of the cache; hidden ``[R, width]``."""
        if cache.weights is None:  # half precision keeps every rounding of the long way
            return self.extend(tokens, Layout.from_lengths([1] * cache.rows, tokens.device), cache)
        cache.require_room()
        hidden = step(self, cache.weights, tokens, cache)
        cache.grow()
        return hidden

    def watch(self, tokens: Tensor, layout: Layout) -> tuple[list[Tensor], list[Tensor]]:
        """For inspection: the stream before and after every layer, and each attention input."""
        streams: list[Tensor] = []
        inputs: list[Tensor] = []

        def note(_layer: int, taken: Tensor, stream: Tensor) -> None:
            inputs.append(taken)
            streams.append(stream)

        self._run(tokens, layout, layout.positions, None, note)
        return [self._embed(tokens), *streams], inputs

    def _blocks(self) -> list[Any]:
        return list(self.layers)

    def _require_context(self, longest: int) -> None:
        if longest > self.spec.context:
            raise LimiteError(
                f"a row of {longest} tokens is longer than the model's context "
                f"of {self.spec.context} tokens"
            )

    def _embed(self, tokens: Tensor) -> Tensor:
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
        layout: Layout,
        positions: Tensor,
        cache: Cache | None,
        note: Callable[[int, Tensor, Tensor], None] | None = None,
    ) -> Tensor:
        shared = Pass(layout, self.rotary.at(positions), self.value_rows(tokens), cache)
        stream = self._embed(tokens)
        normal = rms_norm(stream)
        history = {0: stream}
        for layer, block in enumerate(self.layers):
            inputs, base = normal, stream
            if layer in self.taps:
                assert self.mudd is not None
                states = [history.get(state, stream) for state in self.taps[layer]]
                mixture, base = self.mudd(layer, stream, normal, states)
                inputs = rms_norm(mixture)
            stream, normal = block(inputs, base, shared)
            if layer + 1 in self.tapped:
                history[layer + 1] = stream
            if note is not None:
                note(layer, inputs, stream)
        return normal
