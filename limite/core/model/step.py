"""The fast way to decode: one token for each row, in as few operator calls as it takes.

The same function as ``Decoder.extend`` with chunks of one token, to float32 rounding. Weights are
taken at a cache's first step: projections stacked, scales folded in, residual scalars as plain
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
import torch.nn.functional as F
from torch import Tensor

from limite.core.kernels.moment import Moment
from limite.core.kernels.ops import EPSILON, Rotation, rms_norm
from limite.core.model.attention import AttentionMixer, LayerCache
from limite.core.model.block import Block
from limite.core.model.mudd import Mudd
from limite.core.model.operations import CHECKED, Operations
from limite.core.model.products import Stored, product, stored

if TYPE_CHECKING:
    from limite.core.model.cache import Cache
    from limite.core.model.limite import LimiteDecoder

SMALL_TABLE = 1 << 22
"""Elements of a token table that may be held a second time."""


@attrs.frozen(eq=False)
class StepBlock:
    """One block's weights, ready for use; matrices input by output."""

    mixer: AttentionMixer
    heads: int
    kv_heads: int
    head_width: int
    queries_and_keys: Stored  # [width, (heads + kv_heads) * D]
    values_and_gates: Stored  # [width, kv_heads * D + head gates + value gates]
    columns: tuple[int, int, int]  # of these three
    output: Stored  # [heads * D, width]
    alpha: Tensor | None  # [heads]
    gate: Stored  # [width, F]
    up: Stored  # [width, F]
    down: Stored  # [F, width]
    keep_attention: float
    add_attention: float
    keep_mlp: float
    add_mlp: float

    @classmethod
    def take(cls, block: Block) -> StepBlock:
        attention = block.self_attn
        return cls(
            mixer=attention.mixer,
            heads=attention.heads,
            kv_heads=attention.kv_heads,
            head_width=attention.head_width,
            queries_and_keys=stored(attention.queries_and_keys()),
            values_and_gates=stored(attention.values_and_gates()),
            columns=attention.parts(),
            output=stored(attention.output()),
            alpha=attention.xsa_alpha,
            gate=stored(block.mlp.gate_proj.weight),
            up=stored(block.mlp.up_proj.weight),
            down=stored(block.mlp.down_proj.weight),
            keep_attention=block.resid_lambda_attn.item(),
            add_attention=block.post_lambda_attn.item(),
            keep_mlp=block.resid_lambda_mlp.item(),
            add_mlp=block.post_lambda_mlp.item(),
        )

    def run(
        self,
        inputs: Tensor,
        base: Tensor,
        rotation: Rotation,
        doubled_values: Tensor | None,
        cache: LayerCache,
        moment: Moment,
        operations: Operations,
    ) -> Tensor:
        """``inputs [R, width]``, normalised, and ``base [R, width]`` to the next stream."""
        rows, heads, kv_heads, width = len(inputs), self.heads, self.kv_heads, self.head_width
        both = product(inputs, self.queries_and_keys).view(rows, heads + kv_heads, width)
        turns = rotation if self.mixer.rotary else None
        both = operations.qk_norm_rope(both, turns, eps=EPSILON)
        queries, keys = both.split_with_sizes((heads, kv_heads), 1)
        mixed = product(inputs, self.values_and_gates)
        values, gates, value_gates = mixed.split_with_sizes(self.columns, 1)
        values = values.view(rows, kv_heads, width)
        if self.columns[2]:
            assert doubled_values is not None
            values = values.addcmul(value_gates.sigmoid().unsqueeze(-1), doubled_values)
        out = self.mixer.step(queries, keys, values, inputs, cache, moment)
        if self.columns[1] or self.alpha is not None:
            out = operations.head_mix(out, values, self.alpha, gates if self.columns[1] else None)
        stream = product(
            out.view(rows, heads * width),
            self.output,
            base,
            keep=self.keep_attention,
            scale=self.add_attention,
        )
        hidden = operations.rms_norm(stream, None, eps=EPSILON)
        inner = operations.swiglu(product(hidden, self.gate), product(hidden, self.up))
        return product(inner, self.down, stream, keep=self.keep_mlp, scale=self.add_mlp)


@attrs.frozen(eq=False)
class StepMix:
    """The mixture that feeds one layer."""

    states: tuple[int, ...]
    inner: Stored  # [width, inner]
    dense: Stored  # [inner, ways * taps]
    bias: Tensor  # [ways * taps]
    ways: int  # 2 where the residual base is mixed too

    @classmethod
    def take(cls, mudd: Mudd, layer: int, states: tuple[int, ...]) -> StepMix:
        dense, bias = mudd.weights(layer)
        return cls(states, stored(mudd.dense1), stored(dense), bias, 1 + mudd.residual)

    def run(
        self, stream: Tensor, normal: Tensor, states: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor]:
        hidden = F.gelu(product(normal, self.inner))
        weights = product(hidden, self.dense, self.bias)
        parts = weights.view(len(stream), self.ways, len(states), 1).unbind(2)  # [R, ways, 1]
        mixed = parts[0] * states[0].unsqueeze(1)  # [R, ways, width]
        for part, state in zip(parts[1:], states[1:], strict=True):
            mixed.addcmul_(part, state.unsqueeze(1))
        inputs, *base = mixed.unbind(1)
        return inputs, base[0] if base else stream


@attrs.frozen(eq=False)
class StepWeights:
    """A decoder's weights as ``Decoder.step`` uses them."""

    table: Tensor | None  # [V, width] normalised; None: too large to hold a second time
    doubled_values: Tensor | None  # [V, kv_heads * D] value embeddings times 2, the gates' factor
    blocks: tuple[StepBlock, ...]
    mixes: Mapping[int, StepMix]
    met: set[object] = attrs.field(factory=set, init=False)
    """Of which choices of implementations a step has been run with every argument looked at."""

    @classmethod
    def take(cls, decoder: LimiteDecoder) -> StepWeights:
        """The weights as they are now. A cache that holds them must not outlive an update."""
        table = decoder.embed_tokens.weight
        values = decoder.value_table()
        small = table.numel() <= SMALL_TABLE
        blocks = [block for block in decoder.layers if isinstance(block, Block)]
        mixes = {}
        if decoder.mudd is not None:
            mixes = {i: StepMix.take(decoder.mudd, i, taps) for i, taps in decoder.taps.items()}
        return cls(
            table=rms_norm(table) if small else None,
            doubled_values=None if values is None or not small else values * 2.0,
            blocks=tuple(StepBlock.take(block) for block in blocks),
            mixes=mixes,
        )


def step(decoder: LimiteDecoder, weights: StepWeights, tokens: Tensor, cache: Cache) -> Tensor:
    """``Decoder.step`` for float32 and float64.

    Shapes and dtypes follow from the weights and the number of rows: the operations look at them
    at the first step, and their implementations run by themselves from then on.
    """
    spec = decoder.spec
    assert tokens.shape == (cache.rows,), f"{tuple(tokens.shape)} tokens for {cache.rows} rows"
    moment = Moment(cache.lengths + 1, cache.longest + 1, cache.shortest + 1)
    rotation = decoder.rotary.at(cache.lengths)
    values: Tensor | None
    if weights.doubled_values is not None:
        rows = F.embedding(tokens, weights.doubled_values)
        values = rows.unflatten(-1, (spec.kv_heads, spec.head_width))
    else:
        values = decoder.value_rows(tokens)
        values = None if values is None else values * 2.0
    if weights.table is not None:
        stream = F.embedding(tokens, weights.table)
    else:
        stream = rms_norm(F.embedding(tokens, decoder.embed_tokens.weight))
    chosen = Operations.chosen(stream, spec.head_width)
    operations = chosen if chosen in weights.met else CHECKED
    # Attention looks at its arguments at every step, under a hundredth of the time it takes: what
    # a mixer passes is the mixer's affair, and need not follow from the weights.
    history = {0: stream}
    normal = operations.rms_norm(stream, None, eps=EPSILON)
    for layer, block in enumerate(weights.blocks):
        inputs, base = normal, stream
        if layer in weights.mixes:
            mix = weights.mixes[layer]
            states = [history.get(state, stream) for state in mix.states]
            mixture, base = mix.run(stream, normal, states)
            inputs = operations.rms_norm(mixture, None, eps=EPSILON)
        stream = block.run(inputs, base, rotation, values, cache.layers[layer], moment, operations)
        normal = operations.rms_norm(stream, None, eps=EPSILON)
        if layer + 1 in decoder.tapped:
            history[layer + 1] = stream
    weights.met.add(chosen)
    return normal
