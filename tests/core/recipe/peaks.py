"""Measures what learning takes at its fullest, and what a plan says of it, for small models.

Prints, as JSON, both in bytes: tensors that torch allocates, weights and moments among them.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.memory import BYTES, training_bytes
from limite.core.model.settings import DecoderSpec
from limite.core.model.spec import ModelSpec
from limite.core.recipe.memory_parts import state_bytes
from limite.core.recipe.models import model_named
from limite.core.train.replay import Row, replay
from limite.plugins.optimizers.adamw import AdamW

LONG = 1024
TILE = 1 << 19
"""The logits that the head of a processor holds at once."""
SPECS: dict[str, DecoderSpec] = {
    "limite-tiny": model_named("limite-tiny").filled(55),
    "limite": ModelSpec(
        width=128, layers=8, heads=4, kv_heads=2, head_width=32, mlp_width=384, context=256
    ).filled(60),
    "llama": LlamaSpec(
        width=128, layers=6, heads=4, kv_heads=2, head_width=32, mlp_width=384, context=256
    ).filled(60),
}
ROWS = ((16, 64), (64, 32))
OTHERS: dict[str, tuple[DecoderSpec, int, int]] = {
    "qwen2": (
        LlamaSpec(
            width=192, layers=4, heads=6, kv_heads=2, head_width=32, mlp_width=512, context=LONG,
            query_key_value_bias=True,
        ).filled(4000), 8, 128,
    ),
    "mistral": (
        LlamaSpec(
            width=96, layers=10, heads=3, kv_heads=3, head_width=32, mlp_width=256, context=LONG
        ).filled(4000), 3, 300,
    ),
    "limite, deep": (
        ModelSpec(
            width=64, layers=20, heads=4, kv_heads=1, head_width=16, mlp_width=160, context=LONG
        ).filled(500), 6, 200,
    ),
    "limite, wide": (
        ModelSpec(
            width=256, layers=4, heads=4, kv_heads=4, head_width=64, mlp_width=1024, context=LONG
        ).filled(3000), 2, 700,
    ),
}  # fmt: skip
"""Models, rows and their length that nothing was fitted to."""


def peak_bytes(call: Callable[[], None]) -> int:
    """The most that was allocated at once, of what the call allocates."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        call()
    waiting: list[Any] = list(found.profiler.kineto_results.experimental_event_tree())  # type: ignore[union-attr]
    sizes = []
    while waiting:
        event = waiting.pop()
        waiting += event.children
        if event.tag.name == "Allocation":
            sizes.append((event.start_time_ns, event.extra_fields.alloc_size))
    held = most = 0
    for _, size in sorted(sizes):
        held += size
        most = max(most, held)
    return most


def both(spec: DecoderSpec, rows: int, length: int, recompute: bool) -> dict[str, int]:
    decoder = build_decoder(spec, 1)
    decoder.recompute = recompute
    size = BYTES * sum(each.numel() for each in decoder.parameters())
    texts = [
        Row(prompt=[1], completion=[(7 * row + place) % 50 for place in range(length - 1)])
        for row in range(rows)
    ]
    optimizer = AdamW().build(decoder.named_parameters())

    def learn() -> None:
        (-replay(decoder, texts).logp.sum() / rows).backward()

    learn()
    optimizer.step()
    # The next micro-batch is measured beside the gradients of one before it.
    gc.collect()
    kept = state_bytes(decoder, AdamW())
    tokens = rows * length
    logits = BYTES * min(tokens * (spec.padded_vocabulary or 0), TILE)
    return {
        "measured": 2 * size + kept + peak_bytes(learn),
        "planned": 2 * size + kept + training_bytes(spec, 0, tokens, recompute=recompute) + logits,
    }


def main() -> None:
    torch.set_num_threads(1)
    told = {
        f"{name}, {rows} rows of {length}, recompute {again}": both(spec, rows, length, again)
        for name, spec in SPECS.items()
        for rows, length in ROWS
        for again in (False, True)
    } | {
        f"{name}, {rows} rows of {length}, recompute {again}": both(spec, rows, length, again)
        for name, (spec, rows, length) in OTHERS.items()
        for again in (False, True)
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
