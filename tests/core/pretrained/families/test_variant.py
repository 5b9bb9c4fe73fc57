"""Configurations of models whose attention their family cannot say: both ways, and wrong ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from limite.core.errors import LimiteError, SettingsError
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.presets import preset
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.directory import ModelDirectory, config_of, family_of
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local
from limite.plugins.attention.local_global import LocalGlobal
from limite.plugins.attention.simplicial import Simplicial

LLAMA = LlamaSpec(vocabulary=60, attention=Simplicial(layers=(1,), other=Local(window=9)))
SPECS: dict[str, Any] = {
    "limite": attrs.evolve(preset("limite-tiny"), vocabulary=50, attention=Simplicial(window1=40)),
    "limite by name": ModelSpec(vocabulary=50, width=64, attention="simplicial"),
    "limite without positions": ModelSpec(vocabulary=50, attention=Local(window=4, rotary=False)),
    "llama": LLAMA,
    "qwen2": attrs.evolve(LLAMA, query_key_value_bias=True, tied_head=False),
    "qwen3": attrs.evolve(LLAMA, query_key_norm=True, attention=Simplicial(form="determinant")),
    "llama with some windows": attrs.evolve(
        LLAMA, attention=LocalGlobal(window=8, global_rotary=True)
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_the_spec_comes_back(name: str) -> None:
    spec = SPECS[name].filled()
    config = json.loads(json.dumps(config_of(spec)))
    assert config["model_type"] == "limite-variant"
    read = family_of(config).spec_from_config(config)
    if spec.attention == "simplicial":
        spec = attrs.evolve(spec, attention=Simplicial())
    assert read == spec
    assert config_of(read) == config


@pytest.mark.parametrize("attention", [Global(rotary=True), Local(window=3)])
def test_what_the_family_can_say_is_no_variant(attention: Any) -> None:
    assert config_of(attrs.evolve(LLAMA, attention=attention))["model_type"] in ("llama", "mistral")


def test_a_model_no_family_has_is_told_in_the_words_of_the_family() -> None:
    with pytest.raises(LimiteError, match="cannot say the attention 'simplicial'"):
        config_of(attrs.evolve(LLAMA, query_key_norm=True, query_key_value_bias=True))


def changed(config: dict[str, Any], **more: Any) -> dict[str, Any]:
    """``base__x=1`` sets a field of the base; None takes the field away."""
    for name, value in more.items():
        *above, last = name.split("__")
        table = config
        for each in above:
            table = table[each]
        if value is None:
            del table[last]
        else:
            table[last] = value
    return config


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"surprise": 1}, ["surprise: unknown field"]),
        ({"bass": {}}, ["bass: unknown field; did you mean 'base'?"]),
        (
            {"attention": None, "architectures": None},
            ["architectures: missing", "attention: missing"],
        ),
        ({"architectures": ["LlamaForCausalLM"]}, ["architectures: only ['LimiteVariantForCausal"]),
        ({"base": 4, "attention": "simplicial"}, ["base: expected a table", "attention: expected"]),
        ({"base__model_type": "limite-variant"}, ["base.model_type: a variant cannot be the base"]),
        ({"base__model_type": "llamma"}, ["base.model_type: expected one of", "mean 'llama'?"]),
        (
            {"base__hidden_act": "gelu", "attention__window1": 0, "attention__windw2": 3},
            [
                "base.hidden_act: only 'silu'",
                "attention.window1: ",
                "attention.windw2: unknown key; did you mean 'window2'?",
            ],
        ),
        ({"attention__type": "simplical"}, ["attention.type: ", "did you mean 'simplicial'?"]),
        ({"attention__type": "dppo"}, ["attention.type: 'dppo' is an objective"]),
        ({"attention__other": {"type": "local", "windw": 1}}, ["attention.other.windw: unknown"]),
        ({"base__torch_dtype": "bfloat16"}, ["base.torch_dtype: must be the same beside 'base'"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_all_told(tmp_path: Path, more: dict[str, Any], said: list[str]) -> None:
    config = changed(copy.deepcopy(config_of(LLAMA)), **more)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(SettingsError) as caught:
        ModelDirectory.open(tmp_path)
    told = str(caught.value)
    assert all(f"{part}" in told for part in said), told
    assert all(each.file == str(tmp_path / "config.json") for each in caught.value.mistakes)
