"""Limite's configuration: written, and read back to the same model."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.model.presets import preset
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.families.limite import config_from_spec, spec_from_config
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local
from limite.plugins.attention.local_global import LocalGlobal

GOLDEN = Path(__file__).parents[3] / "golden"


@st.composite
def specs(draw: st.DrawFn) -> ModelSpec:
    heads = draw(st.sampled_from([1, 2, 4]))
    kv_heads = draw(st.sampled_from([n for n in (1, 2, 4) if heads % n == 0]))
    head_width = draw(st.sampled_from([2, 8, 16]))
    layers = draw(st.integers(1, 9))
    some = st.lists(st.integers(0, layers - 1), unique=True).map(lambda x: tuple(sorted(x)))
    mudd_layers = draw(some)
    every = draw(st.integers(1, 10))
    named = draw(st.none() | some)
    return ModelSpec(
        width=heads * head_width,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head_width=head_width,
        mlp_width=draw(st.integers(1, 40)),
        vocabulary=draw(st.integers(1, 50)),
        padded_vocabulary=draw(st.integers(50, 64)),
        context=draw(st.integers(2, 4096)),
        attention=LocalGlobal(
            window=draw(st.integers(1, 99)), global_every=every, global_layers=named
        ),
        rope_pairs=draw(st.integers(0, head_width // 2)),
        value_layers=draw(some),
        value_heads=draw(st.sampled_from([kv_heads, heads])),
        xsa_layers=draw(some),
        head_gate_channels=draw(st.integers(0, heads * head_width)),
        mudd_layers=mudd_layers,
        mudd_taps=tuple((0, layer) for layer in mudd_layers),
        mudd_residual=draw(st.booleans()),
        head_precision=draw(st.sampled_from(["rounded", "float32"])),
    )


@given(specs())
def test_what_is_written_reads_back_to_the_same_model(spec: ModelSpec) -> None:
    config = json.loads(json.dumps(config_from_spec(spec)))
    back = spec_from_config(config).filled()
    wanted = spec.filled()
    same = attrs.evolve(back, attention=wanted.attention)
    assert same == wanted
    for layer in range(wanted.layers):
        assert back.attention.is_global(layer) == wanted.attention.is_global(layer)
    assert back.attention.window == wanted.attention.window


def test_the_published_configuration_is_written_as_it_is() -> None:
    published = json.loads((GOLDEN / "limite_1b_inventory.json").read_text())["config"]
    written = config_from_spec(spec_from_config(published))
    assert {name: written[name] for name in written if name in published} == {
        name: published[name] for name in written if name in published
    }
    assert set(published) - set(written) == {
        "torch_dtype", "bos_token_id", "eos_token_id", "pad_token_id",
    }  # fmt: skip
    assert spec_from_config(published) == attrs.evolve(
        preset("limite-1b").filled(), attention=spec_from_config(published).attention
    )


@pytest.mark.parametrize(
    ("attention", "global_layers"), [(Local(window=5), []), (Global(), [0, 1, 2, 3])]
)
def test_one_kind_of_layer_can_be_said(attention: object, global_layers: list[int]) -> None:
    spec = attrs.evolve(preset("limite-tiny"), attention=attention)
    config = config_from_spec(spec.filled(40))
    assert config["global_layers"] == global_layers
    assert spec_from_config(config).attention.is_global(3) == bool(global_layers)


@pytest.mark.parametrize("attention", [Local(rotary=False), Global(rotary=True)])
def test_what_the_format_cannot_say_is_refused(attention: object) -> None:
    spec = attrs.evolve(preset("limite-tiny"), attention=attention)
    with pytest.raises(LimiteError, match="cannot say the attention"):
        config_from_spec(spec.filled(40))
    with pytest.raises(LimiteError, match="heads times head_width"):
        config_from_spec(ModelSpec(width=65).filled(40))
