"""The fast way to decode: one token for each row, in as few operator calls as it takes.

The same function as ``Decoder.extend`` with chunks of one token, to float32 rounding. Weights are
taken at a cache's first step: projections stacked, matrices turned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import torch
from torch import Tensor

from limite.core.kernels.moment import Moment
from limite.core.kernels.ops import Rotation
from limite.core.model.attention import AttentionMixer, LayerCache
from limite.core.model.llama.block import LlamaBlock
from limite.core.model.operations import PLAIN_CHECKED, PlainOperations
from limite.core.model.products import Stored, product, stored
from limite.core.model.weights import Matrix

if TYPE_CHECKING:
    from limite.core.model.cache import Cache
    from limite.core.model.llama.decoder import LlamaDecoder


@attrs.frozen(eq=False)
class Affine:
    """A projection, or several of the same input side by side."""

    weight: Stored  # [input, output]
    bias: Tensor | None  # [output]

    @classmethod
    def of(cls, *parts: Matrix) -> Affine:
        biases = [part.bias for part in parts if part.bias is not None]
        assert len(biases) in (0, len(parts)), "all have a bias, or none"
        weight = torch.cat(tuple(part.weight for part in parts))
        return cls(stored(weight), torch.cat(tuple(biases)) if biases else None)

    def __call__(self, inputs: Tensor) -> Tensor:
        """``inputs [R, input]`` to ``[R, output]``."""
        return product(inputs, self.weight, self.bias)

    def added(self, stream: Tensor, inputs: Tensor) -> Tensor:
        """``stream`` and the projection of ``inputs``, summed."""
        total = product(inputs, self.weight, stream)
        return total if self.bias is None else total.add_(self.bias)


@attrs.frozen(eq=False)
class LlamaStepBlock:
    """One block's weights, ready for use."""

    mixer: AttentionMixer
    heads: int
    kv_heads: int
    head_width: int
    queries_keys_values: Affine
    norms: Tensor | None  # [heads + kv_heads, D]
    output: Affine
    gate: Affine
    up: Affine
    down: Affine
    gain: Tensor  # [width] of the norm before the feed-forward part
    epsilon: float

    @classmethod
    def take(cls, block: LlamaBlock) -> LlamaStepBlock:
        attention, mlp = block.self_attn, block.mlp
        heads, kv_heads = attention.heads, attention.kv_heads
        norms = None
        if attention.q_norm is not None and attention.k_norm is not None:
            rows = [attention.q_norm.weight] * heads + [attention.k_norm.weight] * kv_heads
            norms = torch.stack(tuple(rows))
        return cls(
            mixer=attention.mixer,
            heads=heads,
            kv_heads=kv_heads,
            head_width=attention.head_width,
            queries_keys_values=Affine.of(attention.q_proj, attention.k_proj, attention.v_proj),
            norms=norms,
            output=Affine.of(attention.o_proj),
            gate=Affine.of(mlp.gate_proj),
            up=Affine.of(mlp.up_proj),
            down=Affine.of(mlp.down_proj),
            gain=block.post_attention_layernorm.weight,
            epsilon=block.epsilon,
        )

    def run(
        self,
        inputs: Tensor,
        stream: Tensor,
        rotation: Rotation,
        cache: LayerCache,
        moment: Moment,
        operations: PlainOperations,
    ) -> Tensor:
        """``inputs [R, width]``, the norm of ``stream``, to the next stream."""
        heads, compared = self.heads, self.heads + self.kv_heads
        everything = self.queries_keys_values(inputs).unflatten(-1, (-1, self.head_width))
        both, values = everything[:, :compared], everything[:, compared:]
        if self.norms is not None:
            both = operations.rms_norm(both, None, eps=self.epsilon).mul_(self.norms)
        if self.mixer.rotary:
            both = operations.rope(both, rotation)
        out = self.mixer.step(both[:, :heads], both[:, heads:], values, inputs, cache, moment)
        stream = self.output.added(stream, out.flatten(1))
        hidden = operations.rms_norm(stream, self.gain, eps=self.epsilon)
        inner = operations.swiglu(self.gate(hidden), self.up(hidden))
        return self.down.added(stream, inner)


@attrs.frozen(eq=False)
class LlamaStepWeights:
    """A decoder's weights as ``Decoder.step`` uses them."""

    blocks: tuple[LlamaStepBlock, ...]
    gains: tuple[Tensor, ...]  # of the norms before each block, and after the last
    met: set[object] = attrs.field(factory=set, init=False)
    """Of which choices of implementations a step has been run with every argument looked at."""

    @classmethod
    def take(cls, decoder: LlamaDecoder) -> LlamaStepWeights:
        """The weights as they are now. A cache that holds them must not outlive an update."""
        blocks = [block for block in decoder.layers if isinstance(block, LlamaBlock)]
        return cls(tuple(map(LlamaStepBlock.take, blocks)), tuple(decoder.gains()))


def step(decoder: LlamaDecoder, weights: LlamaStepWeights, tokens: Tensor, cache: Cache) -> Tensor:
    """``Decoder.step`` for float32 and float64.

    Shapes and dtypes follow from the weights and the number of rows: the operations look at them
    at the first step, and their implementations run by themselves from then on.
    """
    spec = decoder.spec
    assert tokens.shape == (cache.rows,), f"{tuple(tokens.shape)} tokens for {cache.rows} rows"
    moment = Moment(cache.lengths + 1, cache.longest + 1, cache.shortest + 1)
    rotation = decoder.rotary.at(cache.lengths)
    stream = decoder.embed(tokens)
    chosen = PlainOperations.chosen(stream, spec.head_width)
    operations = chosen if chosen in weights.met else PLAIN_CHECKED
    normal = operations.rms_norm(stream, weights.gains[0], eps=spec.norm_epsilon)
    for layer, block in enumerate(weights.blocks):
        stream = block.run(normal, stream, rotation, cache.layers[layer], moment, operations)
        normal = operations.rms_norm(stream, weights.gains[layer + 1], eps=spec.norm_epsilon)
    weights.met.add(chosen)
    return normal
