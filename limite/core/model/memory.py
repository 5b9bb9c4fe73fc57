"""What a model takes in memory, for training it and for sampling from it, from its shapes alone.

Estimates: what a program and its libraries need beside is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from limite.core.model.settings import DecoderSpec
from limite.core.model.spec import ModelSpec

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder

BYTES = 4  # of a float32
# Weights, gradients and the two moments of AdamW.
TRAINED_COPIES = 4


def training_bytes(
    spec: DecoderSpec, parameters: int, tokens: int, *, recompute: bool = False
) -> int:
    """Beside the weights: gradients, moments, and what the backward pass keeps of each layer.

    All in float32. ``tokens`` are those that go through the model at once. With ``recompute`` two
    states of each layer are kept, and the rest of one layer at a time. Widths are those of the
    tensors that the blocks of a family were counted to keep; one of all heads is for windows, which
    a processor keeps in overlapping tiles. Layers that mix earlier states keep seven in all, or
    five each where layers are computed again. On top comes what one backward pass of an MLP works
    on.
    """
    ours = isinstance(spec, ModelSpec)
    mixing = len(spec.mudd_layers or ()) if isinstance(spec, ModelSpec) else 0
    states, queries, values = (6, 6, 4) if ours else (4, 3, 2)
    heads = (queries * spec.heads + values * spec.kv_heads) * spec.head_width
    inside = states * spec.width + 4 * spec.mlp_width + heads
    if recompute:
        kept = inside + spec.layers * 2 * spec.width + mixing * 5 * spec.width
    else:
        kept = spec.layers * inside + (7 * spec.width if mixing else 0)
    working = spec.mlp_width * 3 // 2
    return BYTES * ((TRAINED_COPIES - 1) * parameters + tokens * (kept + working))


def cache_bytes(
    decoder: Decoder, rows: int, tokens: int, dtype: torch.dtype = torch.float32
) -> int:
    """What all layers remember of ``rows`` rows of up to ``tokens`` tokens.

    Every attention is asked for the cache it would make, of which no memory is taken.
    """
    device = torch.device("meta")
    caches = (mixer.new_cache(1, tokens, dtype, device) for mixer in decoder.mixers())
    return rows * sum(cache.bytes for cache in caches)
