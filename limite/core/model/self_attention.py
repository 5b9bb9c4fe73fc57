"""The attention part of a Limite block: everything but the mixing over tokens."""

from __future__ import annotations

import attrs
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.ops import Rotation, head_mix, qk_norm_rope
from limite.core.kinds import Attention
from limite.core.model.attention import AttentionMixer, mix_rows, mixer_of
from limite.core.model.branches import Branches
from limite.core.model.cache import Cache
from limite.core.model.spec import AttentionShape, ModelSpec
from limite.core.model.weights import Matrix, folded, small_dtype, unset


@attrs.frozen(eq=False)
class Pass:
    """What all layers share in one pass over packed tokens."""

    layout: Layout | Branches | Moment
    rotation: Rotation
    values: Tensor | None  # [N, kv_heads, D] value embeddings
    cache: Cache | None = None

    def mixed(
        self,
        mixer: AttentionMixer,
        layer: int,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
    ) -> Tensor:
        """What the ``mixer`` of a layer makes of whole rows, of chunks, or of a step."""
        if self.cache is None:
            assert not isinstance(self.layout, Moment)
            return mix_rows(mixer, queries, keys, values, inputs, self.layout)
        cache = self.cache.layers[layer]
        if isinstance(self.layout, Moment):
            return mixer.step(queries, keys, values, inputs, cache, self.layout)
        assert isinstance(self.layout, Layout)
        seen = self.cache.seen
        return mixer.extend(queries, keys, values, inputs, self.layout, cache, seen)


class SelfAttention(nn.Module):
    """Projections, value embedding, norms, rotary, own-value removal (XSA), head gate."""

    def __init__(
        self, spec: ModelSpec, layer: int, attention: Attention, dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_width = spec.heads, spec.kv_heads, spec.head_width
        self.layer = layer
        small = small_dtype(dtype)
        query_width, key_width = spec.heads * spec.head_width, spec.kv_heads * spec.head_width
        self.q_proj = Matrix(query_width, spec.width, dtype)
        self.k_proj = Matrix(key_width, spec.width, dtype)
        self.v_proj = Matrix(key_width, spec.width, dtype)
        self.o_proj = Matrix(spec.width, query_width, dtype)
        self.qkv_scale = unset(dtype=small)
        self.o_scale = unset(dtype=small)
        self.xsa_alpha: nn.Parameter | None = None
        self.attn_gate: nn.Parameter | None = None
        self.ve_gate: nn.Parameter | None = None
        assert spec.xsa_layers is not None
        assert spec.value_layers is not None
        if layer in spec.xsa_layers:
            self.xsa_alpha = unset(spec.heads, dtype=small)
        if spec.head_gate_channels:
            self.attn_gate = unset(spec.heads, spec.head_gate_channels, dtype=small)
        if layer in spec.value_layers:
            assert spec.value_heads is not None
            assert spec.value_gate_channels is not None
            self.ve_gate = unset(spec.value_heads, spec.value_gate_channels, dtype=small)
        self.mixer = mixer_of(attention, AttentionShape.of(spec, layer), dtype)

    def queries_and_keys(self) -> Tensor:
        """Their projections as one matrix, scaled."""
        scale = self.qkv_scale
        return torch.cat((folded(scale, self.q_proj.weight), folded(scale, self.k_proj.weight)))

    def values_and_gates(self) -> Tensor:
        """One matrix for values, head gates and value gates, in that order.

        Gates read the first channels of the same input: zeros stand for the others.
        """
        parts = [folded(self.qkv_scale, self.v_proj.weight)]
        kind, width = parts[0].dtype, parts[0].shape[1]
        if self.attn_gate is not None:
            parts.append(F.pad(self.attn_gate.to(kind), (0, width - self.attn_gate.shape[1])))
        if self.ve_gate is not None:
            used = self.ve_gate[: self.kv_heads].to(kind)
            parts.append(F.pad(used, (0, width - used.shape[1])))
        return torch.cat(parts) if len(parts) > 1 else parts[0]

    def output(self) -> Tensor:
        return folded(self.o_scale, self.o_proj.weight)

    def parts(self) -> tuple[int, int, int]:
        """Columns of ``values_and_gates``: values, head gates, value gates."""
        return (
            self.kv_heads * self.head_width,
            self.heads if self.attn_gate is not None else 0,
            self.kv_heads if self.ve_gate is not None else 0,
        )

    def forward(self, inputs: Tensor, shared: Pass) -> Tensor:
        """``inputs [N, width]``, normalised, to ``[N, width]`` before the residual join."""
        both = F.linear(inputs, self.queries_and_keys())
        values, gates, value_gates = F.linear(inputs, self.values_and_gates()).split(
            self.parts(), dim=-1
        )
        values = values.unflatten(-1, (self.kv_heads, self.head_width))
        if self.ve_gate is not None:
            assert shared.values is not None
            strength = (value_gates.sigmoid() * 2.0)[..., None]  # [N, kv_heads, 1]
            values = values + strength * shared.values
        both = both.unflatten(-1, (self.heads + self.kv_heads, self.head_width))
        both = qk_norm_rope(both, shared.rotation if self.mixer.rotary else None)
        queries, keys = both.split((self.heads, self.kv_heads), dim=1)
        out = shared.mixed(self.mixer, self.layer, queries, keys, values, inputs)
        out = head_mix(out, values, self.xsa_alpha, gates if self.attn_gate is not None else None)
        return F.linear(out.flatten(1), self.output())
