"""Models as settings: what is derived, what is impossible, what is published."""

from __future__ import annotations

import subprocess
import sys

import pytest

from limite.core.errors import LimiteError, SettingsError
from limite.core.model.init import build_decoder, count_parameters
from limite.core.model.presets import PRESETS, preset
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.families.limite import spec_from_config


def test_what_is_not_said_is_derived_from_the_rest():
    spec = ModelSpec(layers=8, heads=4, kv_heads=2, head_width=16).filled(50)
    assert (spec.vocabulary, spec.padded_vocabulary) == (50, 50)
    assert spec.rope_pairs == 4
    assert spec.value_layers == (1, 4, 7)
    assert (spec.value_width, spec.value_heads, spec.value_gate_channels) == (16, 2, 12)
    assert spec.xsa_layers == tuple(range(8))
    assert spec.mudd_layers == (4, 7)
    assert spec.mudd_taps == ((0, 2, 4), (0, 3, 7))
    assert spec.filled() == spec


def test_what_is_said_stays():
    spec = ModelSpec(vocabulary=9, value_layers=(), mudd_layers=(1,), rope_pairs=0).filled(50)
    assert spec.vocabulary == 9
    assert spec.value_layers == ()
    assert spec.mudd_taps == ((0, 0, 1),)
    assert spec.rope_pairs == 0


def test_a_vocabulary_must_come_from_somewhere():
    with pytest.raises(ValueError, match="vocabulary"):
        ModelSpec().filled()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"heads": 3, "kv_heads": 2}, r"'heads' \(3\) must be a multiple of 'kv_heads' \(2\)"),
        ({"rope_pairs": 17}, r"'rope_pairs' \(17\) must be at most half of 'head_width' \(16\)"),
        ({"head_width": 15}, r"'head_width' \(15\) must be even, unless 'rope_pairs' is 0"),
        ({"value_width": 33}, r"'value_width' \(33\) must be at most 'head_width' \(32\)"),
        ({"value_gate_channels": 65}, "'value_gate_channels'.*'width'"),
        ({"head_gate_channels": 65}, "'head_gate_channels'.*'width'"),
        ({"heads": 4, "value_heads": 3}, "'value_heads'.*'kv_heads'.*'heads'"),
        ({"vocabulary": 9, "padded_vocabulary": 8}, "'vocabulary'.*'padded_vocabulary'"),
        ({"value_layers": (1, 4)}, r"'value_layers' \(4\).*'layers' \(3\)"),
        ({"mudd_layers": (2, 1)}, "'mudd_layers' must list layer numbers"),
        ({"mudd_taps": ((0, 1),)}, "'mudd_taps' must have one list for each"),
        ({"mudd_layers": (1, 2), "mudd_taps": ((0,), (0, 1))}, "'mudd_taps'.*one length"),
        ({"mudd_layers": (1,), "mudd_taps": ((0, 2),)}, "'mudd_taps' of layer 1"),
        ({"layers": 0}, "layers"),
        ({"width": -1}, "width"),
        ({"context": 1}, "context"),
        ({"attention_scale": 0.0}, "attention_scale"),
        ({"cap": (23.0, 5.0, 0.0)}, "'cap'"),
        ({"head_precision": "bfloat16"}, "'head_precision'"),
    ],
)
def test_impossible_shapes_are_named(settings, said):
    with pytest.raises(ValueError, match=said):
        ModelSpec(**settings)


def test_presets():
    decoder = build_decoder(preset("limite-tiny").filled(40))
    assert 180_000 < count_parameters(decoder) < 220_000
    for name in PRESETS:
        assert preset(name).filled(40).layers
    with pytest.raises(LimiteError, match="did you mean 'limite-tiny'"):
        preset("limite-tinny")


def test_settings_do_not_need_torch():
    code = (
        "import sys; from limite.core.model.presets import preset;"
        "preset('limite-1b').filled(); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def refused(config, field):
    with pytest.raises(SettingsError) as caught:
        spec_from_config(config)
    return [m.message for m in caught.value.mistakes if m.path == field]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("mlp_type", "relu2", "only 'swiglu'"),
        ("sliding_window_convention", "other", "only 'k >= q"),
        ("global_window", 512, "only -1"),
        ("tie_word_embeddings", False, "only True"),
        ("tie_word_embeddings", 1, "only True"),
        ("final_softcap", 30.0, "only 0.0"),
        ("rope_per_layer", True, "only False"),
        ("padded_vocab_size", 256, "must equal vocab_size"),
        ("hidden_size", 65, "num_attention_heads times head_dim"),
        ("hidden_size", "64", "a whole number"),
        ("softcap_logits", {"kind": "tanh", "a": 1.0, "b": 0.0, "c": 1.0}, "only 'sigmoid'"),
        ("softcap_logits", {"kind": "sigmoid"}, "expected kind, a, b and c"),
        ("lm_head_precision_mode", "fast", "oracle_exact"),
        ("mudd_tap_idx", {"4": [0, 2, 4]}, "keys must equal mudd_layers"),
        ("mudd_tap_idx", {"4": [0, 2], "7": [0, 7]}, "mudd_taps entries"),
        ("ve_layers", [1, "4"], "layer numbers"),
        ("attention_dropout", 0.1, "only 0"),
        ("gobal_layers", [3], "did you mean 'global_layers'"),
    ],
)
def test_what_is_not_implemented_is_refused(golden, field, value, said):
    config = golden.about["config"] | {field: value}
    assert any(said in message for message in refused(config, field))


def test_every_mistake_is_told_at_once(golden):
    config = golden.about["config"] | {"mlp_type": "relu2", "surprise": 1}
    del config["xsa"]
    with pytest.raises(SettingsError) as caught:
        spec_from_config(config)
    assert {m.path for m in caught.value.mistakes} == {"mlp_type", "surprise", "xsa"}


def test_published_numbers_must_make_a_model(golden):
    config = golden.about["config"] | {"num_key_value_heads": 3, "ve_stored_heads": 3}
    with pytest.raises(LimiteError, match=r"'heads'.*'kv_heads'"):
        spec_from_config(config)


def test_pairs_follow_from_the_fraction(golden):
    config = dict(golden.about["config"])
    del config["rope_n_pairs"]
    assert spec_from_config(config).rope_pairs == 4


def test_named_global_layers_win_over_the_pattern(golden):
    spec = spec_from_config(golden.about["config"] | {"global_layers": [2, 7]})
    assert [layer for layer in range(8) if spec.attention.is_global(layer)] == [2, 7]
