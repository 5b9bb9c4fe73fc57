"""The fast way to decode: one token for each row, in as few operator calls as it takes.

The same function as ``Decoder.extend`` with chunks of one token, to float32 rounding. Weights are
taken once per cache: projections stacked, scales folded in, residual scalars as plain numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
import torch
import torch.nn.functional as F
from torch import Tensor

from limite.core.kernels.moment import Moment
from limite.core.model.attention import AttentionMixer, LayerCache
from limite.core.model.block import Block
from limite.core.model.head_mix import EPSILON
from limite.core.model.mlp import silu
from limite.core.model.mudd import Mudd
from limite.core.model.norm import inverse_rms
from limite.core.model.rope import rotate

if TYPE_CHECKING:
    from limite.core.model.cache import Cache
    from limite.core.model.decoder import Decoder

SMALL_TABLE = 1 << 22
"""Elements of a token table that may be held a second time."""


@attrs.frozen(eq=False)
class StepBlock:
    """One block's weights, ready for use; matrices input by output."""

    mixer: AttentionMixer
    heads: int
    kv_heads: int
    head_width: int
    queries_and_keys: Tensor  # [width, (heads + kv_heads) * D]
    values_and_gates: Tensor  # [width, kv_heads * D + head gates + value gates]
    output: Tensor  # [heads * D, width]
    strength: Tensor | None  # [1, kv_heads, heads / kv_heads, 1], tanh of alpha
    head_gate: bool
    value_gate: bool
    gate: Tensor  # [width, F]
    up: Tensor  # [width, F]
    down: Tensor  # [F, width]
    keep_attention: float
    add_attention: float
    keep_mlp: float
    add_mlp: float

    @classmethod
    def take(cls, block: Block) -> StepBlock:
        attention = block.self_attn
        gated = attention.attn_gate is not None
        groups = attention.heads // attention.kv_heads
        alpha = attention.xsa_alpha
        return cls(
            mixer=attention.mixer,
            heads=attention.heads,
            kv_heads=attention.kv_heads,
            head_width=attention.head_width,
            queries_and_keys=attention.queries_and_keys().t().contiguous(),
            values_and_gates=attention.values_and_gates().t().contiguous(),
            # The factor 2 of the head gates goes in here: exact, being a power of two.
            output=(attention.output().t() * (2.0 if gated else 1.0)).contiguous(),
            strength=None if alpha is None else alpha.tanh().view(1, attention.kv_heads, groups, 1),
            head_gate=gated,
            value_gate=attention.ve_gate is not None,
            gate=block.mlp.gate_proj.weight.t().contiguous(),
            up=block.mlp.up_proj.weight.t().contiguous(),
            down=block.mlp.down_proj.weight.t().contiguous(),
            keep_attention=block.resid_lambda_attn.item(),
            add_attention=block.post_lambda_attn.item(),
            keep_mlp=block.resid_lambda_mlp.item(),
            add_mlp=block.post_lambda_mlp.item(),
        )

    def run(
        self,
        inputs: Tensor,
        base: Tensor,
        turn: Tensor,
        doubled_values: Tensor | None,
        cache: LayerCache,
        moment: Moment,
    ) -> Tensor:
        """``inputs [R, width]`` not yet normalised, ``base [R, width]`` to the next stream."""
        rows, heads, kv_heads, width = len(inputs), self.heads, self.kv_heads, self.head_width
        inputs = inputs * inverse_rms(inputs)
        both = inputs.mm(self.queries_and_keys).view(rows, heads + kv_heads, width)
        both = both * inverse_rms(both)
        if self.mixer.rotary:
            rotate(both, turn)
        mixed = inputs.mm(self.values_and_gates)
        values = mixed[:, : kv_heads * width].view(rows, kv_heads, width)
        gates = None
        if self.head_gate or self.value_gate:
            gates = mixed[:, kv_heads * width :].sigmoid()
        if self.value_gate:
            assert gates is not None
            assert doubled_values is not None
            values = values.addcmul(gates[:, -kv_heads:, None], doubled_values)
        out = self.mixer.step(both[:, :heads], both[:, heads:], values, inputs, cache, moment)
        groups = out.view(rows, kv_heads, heads // kv_heads, width)
        if self.strength is not None:
            unit = values[:, :, None]  # [R, K, 1, D]
            length = torch.linalg.vector_norm(unit, dim=-1, keepdim=True).clamp_(min=EPSILON)
            unit = unit / length
            along = (groups * unit).sum(-1, keepdim=True).mul_(self.strength)
            groups = groups.addcmul(along, unit, value=-1)
        if self.head_gate:
            assert gates is not None
            groups = groups * gates[:, :heads].view(rows, kv_heads, heads // kv_heads, 1)
        stream = torch.addmm(
            base,
            groups.view(rows, heads * width),
            self.output,
            beta=self.keep_attention,
            alpha=self.add_attention,
        )
        hidden = stream * inverse_rms(stream)
        inner = silu(hidden.mm(self.gate)).mul_(hidden.mm(self.up))
        return torch.addmm(stream, inner, self.down, beta=self.keep_mlp, alpha=self.add_mlp)


@attrs.frozen(eq=False)
class StepMix:
    """The mixture that feeds one layer."""

    states: tuple[int, ...]
    inner: Tensor  # [width, inner]
    dense: Tensor  # [inner, ways * taps]
    bias: Tensor  # [ways * taps]
    ways: int  # 2 where the residual base is mixed too

    @classmethod
    def take(cls, mudd: Mudd, layer: int, states: tuple[int, ...]) -> StepMix:
        dense, bias = mudd.weights(layer)
        return cls(
            states, mudd.dense1.t().contiguous(), dense.t().contiguous(), bias, 1 + mudd.residual
        )

    def run(self, stream: Tensor, states: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        hidden = F.gelu((stream * inverse_rms(stream)).mm(self.inner))
        weights = torch.addmm(self.bias, hidden, self.dense)
        parts = weights.view(len(stream), self.ways, len(states), 1).unbind(2)  # [R, ways, 1]
        mixed = parts[0] * states[0][:, None]  # [R, ways, width]
        for part, state in zip(parts[1:], states[1:], strict=True):
            mixed.addcmul_(part, state[:, None])
        return mixed[:, 0], mixed[:, 1] if self.ways == 2 else stream


@attrs.frozen(eq=False)
class StepWeights:
    """A decoder's weights as ``Decoder.step`` uses them."""

    table: Tensor | None  # [V, width] normalised; None: too large to hold a second time
    doubled_values: Tensor | None  # [V, kv_heads * D] value embeddings times 2, the gates' factor
    blocks: tuple[StepBlock, ...]
    mixes: Mapping[int, StepMix]

    @classmethod
    def take(cls, decoder: Decoder) -> StepWeights:
        """The weights as they are now. A cache that holds them must not outlive an update."""
        table = decoder.embed_tokens.weight
        values = decoder.value_table()
        small = table.numel() <= SMALL_TABLE
        blocks = [block for block in decoder.layers if isinstance(block, Block)]
        mixes = {}
        if decoder.mudd is not None:
            mixes = {i: StepMix.take(decoder.mudd, i, taps) for i, taps in decoder.taps.items()}
        return cls(
            table=table * inverse_rms(table) if small else None,
            doubled_values=None if values is None or not small else values * 2.0,
            blocks=tuple(StepBlock.take(block) for block in blocks),
            mixes=mixes,
        )


def step(decoder: Decoder, weights: StepWeights, tokens: Tensor, cache: Cache) -> Tensor:
    """``Decoder.step`` for float32 and float64."""
    spec = decoder.spec
    moment = Moment(cache.lengths + 1, cache.longest + 1)
    turn = decoder.rotary.phase(cache.lengths, spec.heads + spec.kv_heads, decoder.dtype).turn
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
        stream = F.embedding(tokens, decoder.embed_tokens.weight)
        stream = stream * inverse_rms(stream)
    history = {0: stream}
    for layer, block in enumerate(weights.blocks):
        inputs = base = stream
        if layer in weights.mixes:
            mix = weights.mixes[layer]
            inputs, base = mix.run(stream, [history.get(i, stream) for i in mix.states])
        stream = block.run(inputs, base, turn, values, cache.layers[layer], moment)
        if layer + 1 in decoder.tapped:
            history[layer + 1] = stream
    return stream * inverse_rms(stream)
