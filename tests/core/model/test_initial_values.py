"""Weights that are made one by one are those that a whole decoder is made with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from limite.core.model.init import build_decoder, initial_values, skeleton, with_memory
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.settings import at
from limite.core.recipe.models import model_named
from limite.core.seeds import Seeds
from limite.plugins.attention.simplicial import Simplicial

SIZES: Any = {
    "width": 16, "layers": 3, "heads": 2, "kv_heads": 1, "head_width": 8, "mlp_width": 20,
    "context": 32,
}  # fmt: skip
SPECS = {
    "limite": ModelSpec(**SIZES),
    "limite-tiny": model_named("limite-tiny"),
    "simplicial": ModelSpec(**SIZES, attention=Simplicial(window1=8, window2=4)),
    "llama": LlamaSpec(**SIZES, query_key_value_bias=True),
}


@pytest.mark.parametrize("name", SPECS)
def test_first_values_are_those_of_a_whole_decoder_bit_for_bit(name: str) -> None:
    spec: Any = SPECS[name]
    whole = dict(spec.decoder(50, Seeds(4)).named_parameters())
    bare = skeleton(lambda: spec.decoder(50, Seeds(4), values=False))
    assert {each.device.type for each in bare.parameters()} == {"meta"}
    found = dict(spec.values(bare, Seeds(4)))
    assert found.keys() == whole.keys()
    for each, wanted in whole.items():
        assert found[each].dtype == wanted.dtype
        assert torch.equal(found[each], wanted), each


def test_a_narrower_decoder_begins_with_the_same_values_rounded() -> None:
    spec = SPECS["simplicial"].filled(50)
    whole = build_decoder(spec, 4, dtype=torch.bfloat16)
    bare = skeleton(lambda: build_decoder(spec, dtype=torch.bfloat16))
    found = dict(initial_values(bare, Seeds(4)))
    for name, wanted in whole.named_parameters():
        assert found[name].dtype == wanted.dtype
        assert torch.equal(found[name], wanted), name


@pytest.mark.parametrize("name", ["limite", "llama"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_of_a_directory_are_read_one_by_one(name: str, dtype: str, tmp_path: Path) -> None:
    spec: Any = SPECS[name]
    save_pretrained(spec.decoder(50, Seeds(4)), tmp_path / "model")
    settings = at(tmp_path / "model")
    settings = type(settings)(path=settings.path, dtype=dtype)
    whole = dict(settings.decoder(50, Seeds(1)).named_parameters())
    bare = skeleton(lambda: settings.decoder(50, Seeds(1), values=False))
    found = dict(settings.values(bare, Seeds(1)))
    assert found.keys() == whole.keys()
    for each, wanted in whole.items():
        assert found[each].dtype == wanted.dtype
        assert torch.equal(found[each], wanted), each


def test_a_skeleton_computes_as_ever_once_it_has_memory() -> None:
    spec = SPECS["limite"].filled(50)
    whole = build_decoder(spec, 4)
    bare = with_memory(skeleton(lambda: build_decoder(spec)), "cpu")
    bare.load_state_dict(whole.state_dict())
    for name, buffer in whole.named_buffers():
        assert torch.equal(dict(bare.named_buffers())[name], buffer)
