"""What a model takes in memory, for training it and for sampling from it, from its shapes alone.

Estimates: what a program and its libraries need beside is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from limite.core.model.settings import DecoderSpec

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
    states of each layer are kept, and the rest of one layer at a time.
    """
    heads = (2 * spec.heads + 4 * spec.kv_heads) * spec.head_width
    inside = 10 * spec.width + 4 * spec.mlp_width + heads
    kept = inside + spec.layers * 2 * spec.width if recompute else spec.layers * inside
    return BYTES * ((TRAINED_COPIES - 1) * parameters + tokens * kept)


def cache_bytes(
    decoder: Decoder, rows: int, tokens: int, dtype: torch.dtype = torch.float32
) -> int:
    """What all layers remember of ``rows`` rows of up to ``tokens`` tokens.

    Every attention is asked for the cache it would make, of which no memory is taken.
    """
    device = torch.device("meta")
    caches = (mixer.new_cache(1, tokens, dtype, device) for mixer in decoder.mixers())
    return rows * sum(cache.bytes for cache in caches)
