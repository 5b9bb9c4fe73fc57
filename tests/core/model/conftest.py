"""Decoders, and numbers that other implementations found."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
import torch

from limite.core.model.init import build_decoder
from limite.core.model.presets import preset
from limite.core.pretrained.directory import load_checkpoint
from limite.core.pretrained.families.limite import spec_from_config
from limite.core.pretrained.tensor_directory import TensorDirectory
from limite.core.pretrained.tensor_file import TensorFile

GOLDEN = Path(__file__).parents[2] / "golden"


@attrs.frozen
class Golden:
    """The golden decoder's configuration, weights, inputs and expectations."""

    about: dict
    weights: TensorDirectory
    numbers: dict

    def __getitem__(self, name):
        return self.numbers[name]

    @property
    def tolerance(self):
        return self.about["tolerances"]


@pytest.fixture(scope="session")
def golden():
    file = TensorFile.open(GOLDEN / "limite_tiny.safetensors")
    return Golden(
        about=json.loads((GOLDEN / "limite_tiny.json").read_text()),
        weights=TensorDirectory.of_file(file, "model."),
        numbers={k.removeprefix("golden."): file.read(k) for k in file.entries if k[0] == "g"},
    )


@pytest.fixture(scope="session")
def golden_decoder(golden):
    """The golden decoder in a dtype: ``golden_decoder(torch.float32)``."""
    made = {}

    def make(dtype):
        if dtype not in made:
            spec = spec_from_config(golden.about["config"])
            made[dtype] = build_decoder(spec, dtype=dtype)
            load_checkpoint(made[dtype], golden.weights)
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
