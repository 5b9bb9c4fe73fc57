"""Models by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from limite.core.errors import LimiteError, did_you_mean
from limite.core.model.spec import ModelSpec

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # About 0.2 M parameters with a character tokenizer: learns arithmetic on a CPU in minutes.
    "limite-tiny": {
        "width": 64,
        "layers": 4,
        "heads": 2,
        "kv_heads": 1,
        "head_width": 32,
        "mlp_width": 176,
        "context": 128,
        "attention": {"type": "local-global", "window": 16},
    },
    # The published geometry.
    "limite-1b": {
        "width": 1280,
        "layers": 48,
        "heads": 10,
        "kv_heads": 2,
        "head_width": 128,
        "mlp_width": 3328,
        "vocabulary": 151_667,
        "padded_vocabulary": 151_680,
        "context": 131_072,
        "attention": {"type": "local-global", "window": 1025},
        "attention_scale": 0.1,
        "rope_pairs": 32,
        "mudd_width": 32,
    },
}
"""Plain settings, as they would stand in TOML: attention is named, not imported."""


def preset(name: str) -> ModelSpec:
    """The spec of a preset, its attention resolved through the registry."""
    if name not in PRESETS:
        raise LimiteError(f"unknown model {name!r}{did_you_mean(name, PRESETS)}")
    from limite.core.model.resolve import attention_component

    settings = dict(PRESETS[name])
    return ModelSpec(**settings | {"attention": attention_component(settings["attention"])})
