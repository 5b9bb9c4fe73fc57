"""Tokens to hidden states, whole or a little at a time: what every family of models shares."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from limite.core.errors import LimiteError
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.ops import indexed_logprob
from limite.core.model import head
from limite.core.model.attention import AttentionMixer
from limite.core.model.branches import Branches
from limite.core.model.cache import Cache, Taken
from limite.core.model.settings import DecoderSpec
from limite.core.model.weights import Matrix

Note = Callable[[int, Tensor, Tensor], None]
"""Told of each layer: its number, its normalised attention input, the stream after it."""


class Decoder(nn.Module):
    """A language model over packed rows. Parameters carry the names of published checkpoints.

    Its values are unset: ``limite.core.model.init.build_decoder`` gives one that is ready.
    A family fills in ``embed_tokens``, ``layers`` (blocks with ``self_attn.mixer``) and ``_run``.
    """

    operations: ClassVar[tuple[str, ...]]
    """The operations of the kernel core it calls whatever its attention is."""

    embed_tokens: Matrix
    layers: nn.ModuleList

    recompute: bool = False
    """Whether the backward pass computes what happens inside a layer again, of which then only what
    goes in is kept: less memory, about a third more arithmetic, the same bits."""

    before_step: Callable[[], None] | None = None
    """Called before every step, also before one that is a graph played again; it may raise."""

    def __init__(self, spec: DecoderSpec) -> None:
        super().__init__()
        assert spec.vocabulary is not None, "the spec must be filled"
        self.spec = spec
        self.vocabulary: int = spec.vocabulary

    # What a family gives

    @abstractmethod
    def _run(
        self,
        tokens: Tensor,
        layout: Layout | Branches | Moment,
        positions: Tensor,
        cache: Cache | None,
        note: Note | None = None,
    ) -> Tensor:
        """``tokens [N]`` at ``positions [N]`` of their rows to final hidden states, normalised.

        With a ``Moment`` one token of each row of the cache, which is not grown.
        """

    @abstractmethod
    def embed(self, tokens: Tensor) -> Tensor:
        """The stream before the first layer, ``[N, width]``."""

    @abstractmethod
    def step_weights(self) -> Any:
        """The weights as ``_step`` reads them; None where a step reads them as ``_run`` does."""

    @abstractmethod
    def _step(self, weights: Any, tokens: Tensor, cache: Cache) -> Tensor:
        """One token ``[R]`` for each row with the weights taken before; hidden ``[R, width]``."""

    def through(self, block: nn.Module, *inputs: Any) -> Any:
        """What ``block`` makes of ``inputs``; ``_run`` calls its blocks by it."""
        if self.recompute and torch.is_grad_enabled():
            return checkpoint(block, *inputs, use_reentrant=False, preserve_rng_state=False)
        return block(*inputs)

    # What everybody asks

    @property
    def head_weight(self) -> Tensor:
        """The output head ``[padded vocabulary, width]``: the token table, where they are tied."""
        return self.embed_tokens.weight

    def without_head(self) -> Self:
        """The same decoder, its memory included, but for an output head that is no other table.

        It gives hidden states; it has no logits unless the head is the token table.
        """
        bare = copy.copy(self)
        bare._parameters, bare._buffers = dict(self._parameters), dict(self._buffers)
        bare._modules = {name: each for name, each in self._modules.items() if name != "lm_head"}
        if "lm_head" in self._modules:
            bare._modules["lm_head"] = None
        return bare

    @property
    def device(self) -> torch.device:
        return self.embed_tokens.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """Of matrices and activations."""
        return self.embed_tokens.weight.dtype

    def mixers(self) -> Iterator[AttentionMixer]:
        """The attention of every layer, in order."""
        for block in self.layers:
            yield block.self_attn.mixer  # type: ignore[union-attr, misc]

    @property
    def ragged(self) -> bool:
        """Whether rows of different lengths may be laid end to end, without padding."""
        return all(mixer.ragged for mixer in self.mixers())

    @property
    def shares_prompts(self) -> bool:
        """Whether rows that begin with the same prompt may hold it once."""
        return all(mixer.ragged and mixer.shares_prompts for mixer in self.mixers())

    def forward(self, tokens: Tensor, layout: Layout | Branches) -> Tensor:
        """``tokens [N]``, packed rows, to final hidden states ``[N, width]``, normalised.

        With ``Branches`` rows may share the tokens they begin with.
        """
        self._require_context(layout.longest)
        return self._run(tokens, layout, layout.positions, None)

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits ``[..., V]`` in float32, soft-capped where the model is, padded ids included."""
        return head.logits(hidden, self.head_weight, self.spec.cap, self.spec.head_precision)

    def log_probabilities(
        self,
        hidden: Tensor,
        targets: Tensor,
        *,
        temperature: float = 1.0,
        entropy: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """What ``hidden [N, width]`` gives to ``targets``, and the entropy ``[N]``, in nats.

        ``targets`` are ids ``[N]`` or ``[N, K]``, and so is the result, in float32. Over all ids,
        padded ones included. Logits are never stored whole.
        """
        logp, entropies, _ = indexed_logprob(
            hidden,
            self.head_weight,
            targets if targets.ndim == 2 else targets[:, None],
            cap=self.spec.cap,
            temperature=temperature,
            round_logits=head.rounding(hidden.dtype, self.spec.head_precision),
            need_entropy=entropy,
        )
        return logp if targets.ndim == 2 else logp.squeeze(1), entropies

    @torch.no_grad()
    def new_cache(self, rows: int, capacity_tokens: int) -> Cache:
        """An empty cache for ``rows`` rows of at most ``capacity_tokens`` tokens each."""
        self._require_context(capacity_tokens)
        layers = [
            mixer.new_cache(rows, capacity_tokens, self.dtype, self.device)
            for mixer in self.mixers()
        ]
        return Cache(layers, [0] * rows, capacity_tokens, Taken(self.step_weights), self.device)

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
        if self.before_step is not None:
            self.before_step()
        weights = cache.weights.get()
        cache.require_room()
        if weights is None:
            moment = Moment(cache.lengths + 1, cache.longest + 1, cache.shortest + 1)
            hidden = self._run(tokens, moment, cache.lengths, cache)
        else:
            hidden = cache.recorded.take(self, weights, tokens, cache)
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
        return [self.embed(tokens), *streams], inputs

    def _require_context(self, longest: int) -> None:
        if longest > self.spec.context:
            raise LimiteError(
                f"a row of {longest} tokens is longer than the model's context "
                f"of {self.spec.context} tokens"
            )
