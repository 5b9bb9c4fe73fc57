"""What models take in memory, held to counts by hand."""

from __future__ import annotations

import attrs
import torch

from limite.core.model.init import build_decoder
from limite.core.model.memory import cache_bytes, training_bytes
from limite.core.model.presets import preset
from limite.core.model.resolve import attention_component


def test_a_cache_holds_windows_of_local_layers_and_all_of_global_ones() -> None:
    # 48 layers, every fourth global; 2 heads of 128 channels, keys and values: 512 numbers.
    spec = preset("limite-1b").filled()
    decoder = build_decoder(spec, device="meta")
    tokens = 131_072
    expected = 12 * tokens * 512 * 2 + 36 * 1025 * 512 * 2
    assert cache_bytes(decoder, 1, tokens, torch.bfloat16) == expected
    assert cache_bytes(decoder, 3, tokens) == 3 * 2 * expected
    short = 48 * 64 * 512 * 4
    assert cache_bytes(decoder, 5, 64) == 5 * short


def test_any_attention_says_what_it_holds() -> None:
    simplicial = {"type": "simplicial", "window1": 6, "window2": 4, "every": 2}
    spec = attrs.evolve(
        preset("limite-tiny"), vocabulary=10, attention=attention_component(simplicial)
    )
    decoder = build_decoder(spec.filled(), device="meta")
    numbers = 32 * 1  # of one key or value, all heads
    pairs, plain = 2 * (6 + 4) * numbers, 2 * 64 * numbers
    assert cache_bytes(decoder, 1, 64) == 4 * (2 * pairs + 2 * plain)
    assert [mixer.words for mixer in decoder.mixers()] == ["global", "2-simplicial 6 by 4"] * 2


def test_layers_say_what_they_see() -> None:
    decoder = build_decoder(attrs.evolve(preset("limite-tiny"), vocabulary=10), device="meta")
    words = [mixer.words for mixer in decoder.mixers()]
    assert words == ["local 16"] * 3 + ["global without positions"]


def test_training_takes_copies_of_the_weights_and_what_layers_keep() -> None:
    spec = attrs.evolve(preset("limite-tiny"), vocabulary=10)
    # Width 64, MLP 176, 2 heads and 1 of keys and values, each of 32 channels, 4 layers.
    # Two layers mix earlier states.
    kept = 4 * (6 * 64 + 4 * 176 + (6 * 2 + 4 * 1) * 32) + 7 * 64 + 3 * 88
    assert training_bytes(spec.filled(), 1000, 7) == 4 * (3 * 1000 + 7 * kept)
