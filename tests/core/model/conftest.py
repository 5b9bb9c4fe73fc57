"""Decoders, and numbers that other implementations found."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
import torch
from safetensors.torch import load_file

from limite.core.model.init import build_decoder
from limite.core.model.presets import preset
from limite.core.pretrained.families.limite import load_published, spec_from_config

GOLDEN = Path(__file__).parents[2] / "golden"


@attrs.frozen
class Golden:
    """The golden decoder's configuration, weights, inputs and expectations."""

    about: dict
    weights: dict
    numbers: dict

    def __getitem__(self, name):
        return self.numbers[name]

    @property
    def tolerance(self):
        return self.about["tolerances"]


@pytest.fixture(scope="session")
def golden():
    tensors = load_file(GOLDEN / "limite_tiny.safetensors")
    return Golden(
        about=json.loads((GOLDEN / "limite_tiny.json").read_text()),
        weights={k: v for k, v in tensors.items() if k.startswith("model.")},
        numbers={k.removeprefix("golden."): v for k, v in tensors.items() if k.startswith("g")},
    )


@pytest.fixture(scope="session")
def golden_decoder(golden):
    """The golden decoder in a dtype: ``golden_decoder(torch.float32)``."""
    made = {}

    def make(dtype):
        if dtype not in made:
            spec = spec_from_config(golden.about["config"])
            made[dtype] = build_decoder(spec, dtype=dtype)
            load_published(made[dtype], golden.weights)
        return made[dtype]

    return make


@pytest.fixture(scope="session")
def inventory():
    return json.loads((GOLDEN / "limite_1b_inventory.json").read_text())


@pytest.fixture(scope="session")
def tiny():
    """A small decoder with every part at work: gates open, mixtures mixing."""
    spec = attrs.evolve(preset("limite-tiny"), vocabulary=40, kv_heads=1, context=128)
    decoder = build_decoder(spec, 3)
    noise = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=noise) * 0.2)
    return decoder
