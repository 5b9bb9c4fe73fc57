"""Directories of either side are loaded by the other: limite's by transformers, and back."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.llama.scaling import LinearScaling, Llama3Scaling, YarnScaling
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local
from limite.plugins.attention.local_global import LocalGlobal

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import transformers

CLOSE = 1e-4
"""Of the largest logit, in float32: sums in another order, through three layers."""

SIZES: dict[str, Any] = {
    "vocabulary": 61,
    "width": 48,
    "layers": 3,
    "heads": 4,
    "kv_heads": 2,
    "head_width": 12,
    "mlp_width": 80,
    "context": 96,
}
SPECS: dict[str, tuple[str, LlamaSpec]] = {
    "llama": ("LlamaForCausalLM", LlamaSpec(**SIZES, norm_epsilon=1e-5)),
    "llama, untied, biased, of many ids": (
        "LlamaForCausalLM",
        LlamaSpec(
            **SIZES | {"vocabulary": 50},
            padded_vocabulary=64,
            tied_head=False,
            query_key_value_bias=True,
            output_bias=True,
            mlp_bias=True,
            rope_scaling=Llama3Scaling(factor=8.0, original_context=32),
        ),
    ),
    "llama, stretched": (
        "LlamaForCausalLM",
        LlamaSpec(**SIZES, rope_scaling=LinearScaling(factor=3.0), rope_base=500.0),
    ),
    "mistral": (
        "MistralForCausalLM",
        LlamaSpec(**SIZES | {"kv_heads": 1}, attention=Local(window=5), tied_head=False),
    ),
    "qwen2": ("Qwen2ForCausalLM", LlamaSpec(**SIZES, query_key_value_bias=True)),
    "qwen2, windows": (
        "Qwen2ForCausalLM",
        LlamaSpec(
            **SIZES,
            query_key_value_bias=True,
            tied_head=False,
            attention=LocalGlobal(window=5, global_layers=(0,), global_rotary=True),
        ),
    ),
    "qwen3": (
        "Qwen3ForCausalLM",
        LlamaSpec(**SIZES | {"head_width": 16}, query_key_norm=True, attention=Global(rotary=True)),
    ),
    "qwen3, untied, yarn": (
        "Qwen3ForCausalLM",
        LlamaSpec(
            **SIZES | {"kv_heads": 4},
            query_key_norm=True,
            tied_head=False,
            query_key_value_bias=True,
            output_bias=True,
            rope_scaling=YarnScaling(factor=4.0, original_context=24),
        ),
    ),
}
ROWS = [torch.arange(length) * 7 % 50 for length in (9, 1, 23)]


def random_decoder(spec: LlamaSpec) -> Decoder:
    """One whose norms and biases count."""
    decoder = build_decoder(spec, 3)
    stream = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for name, parameter in decoder.named_parameters():
            noise = torch.randn(parameter.shape, generator=stream)
            scale = 0.4 if parameter.dim() == 1 or "embed" in name else 1.5 * 48**-0.5
            parameter.add_(noise * scale)
    return decoder


def ours(decoder: Decoder) -> Tensor:
    with torch.no_grad():
        layout = Layout.from_lengths([len(row) for row in ROWS])
        return decoder.logits(decoder(torch.cat(ROWS), layout))


def theirs(model: Any) -> Tensor:
    with torch.no_grad():
        return torch.cat([model(row[None]).logits[0] for row in ROWS])


def distance(found: Tensor, expected: Tensor) -> float:
    """The largest difference, as a part of the largest logit."""
    assert found.shape == expected.shape
    return ((found - expected).abs().max() / expected.abs().max()).item()


def loaded_by_transformers(path: Path) -> Any:
    model, about = transformers.AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.float32, output_loading_info=True, local_files_only=True
    )
    assert not any(about.values()), about  # missing, unexpected, of another shape, errors
    return model.eval()


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("shard_bytes", [1 << 30, 20_000])
def test_what_limite_writes_is_loaded_by_transformers(
    tmp_path: Path, name: str, shard_bytes: int
) -> None:
    architecture, spec = SPECS[name]
    decoder = random_decoder(spec)
    save_pretrained(decoder, tmp_path / "model", shard_bytes=shard_bytes)
    files = list((tmp_path / "model").glob("*.safetensors"))
    assert (len(files) > 1) == (shard_bytes < 1 << 30)
    model = loaded_by_transformers(tmp_path / "model")
    assert type(model).__name__ == architecture
    assert distance(theirs(model), ours(decoder)) < CLOSE
    again = ModelDirectory.open(tmp_path / "model").load()
    assert torch.equal(ours(again), ours(decoder))


def test_halves_are_the_same_halves_on_both_sides(tmp_path: Path) -> None:
    decoder = random_decoder(SPECS["qwen2"][1])
    save_pretrained(decoder, tmp_path / "model", dtype="bfloat16")
    model = loaded_by_transformers(tmp_path / "model")
    assert transformers.AutoConfig.from_pretrained(tmp_path / "model").dtype == torch.bfloat16
    read = ModelDirectory.open(tmp_path / "model").load("float32")
    assert distance(theirs(model), ours(read)) < CLOSE
    for parameter in decoder.parameters():
        parameter.data = parameter.bfloat16().float()
    assert torch.equal(ours(read), ours(decoder))


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("shard", ["1GB", "20KB"])
def test_what_transformers_writes_is_loaded_by_limite(
    tmp_path: Path, name: str, shard: str
) -> None:
    # Their configuration, as far as ours can say it, and weights of their own making.
    save_pretrained(random_decoder(SPECS[name][1]), tmp_path / "first")
    config = transformers.AutoConfig.from_pretrained(tmp_path / "first")
    torch.manual_seed(11)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(tmp_path / "model", max_shard_size=shard)
    sharded = len(list((tmp_path / "model").glob("*.safetensors"))) > 1
    assert sharded == (shard == "20KB")
    found = ModelDirectory.open(tmp_path / "model")
    assert found.check() == []
    assert attrs.evolve(found.spec, vocabulary=1) == attrs.evolve(
        ModelDirectory.open(tmp_path / "first").spec, vocabulary=1
    )
    assert distance(ours(found.load()), theirs(model)) < CLOSE


def test_a_model_goes_there_and_back_without_a_change(tmp_path: Path) -> None:
    decoder = random_decoder(SPECS["qwen3"][1])
    save_pretrained(decoder, tmp_path / "there")
    loaded_by_transformers(tmp_path / "there").save_pretrained(tmp_path / "back")
    back = ModelDirectory.open(tmp_path / "back").load()
    given = dict(decoder.named_parameters())
    assert given.keys() == dict(back.named_parameters()).keys()
    assert all(torch.equal(value, given[name]) for name, value in back.named_parameters())
    first = json.loads((tmp_path / "there" / "config.json").read_text())
    second = json.loads((tmp_path / "back" / "config.json").read_text())
    assert first["rope_parameters"] == second["rope_parameters"]
