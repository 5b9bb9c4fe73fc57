"""Configurations of Llama's family: the published ones, and what is refused."""

from __future__ import annotations

import attrs
import pytest

from limite.core.errors import LimiteError, SettingsError
from limite.core.model.init import build_decoder, count_parameters
from limite.core.model.llama.scaling import (
    LinearScaling,
    Llama3Scaling,
    NoScaling,
    YarnScaling,
)
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.directory import file_name
from limite.core.pretrained.families.llama import (
    config_from_spec,
    derived_names,
    spec_from_config,
)

SMOLLM2 = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 576,
    "initializer_range": 0.041666666666666664,
    "intermediate_size": 1536,
    "is_llama_config": True,
    "max_position_embeddings": 8192,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 9,
    "num_hidden_layers": 30,
    "num_key_value_heads": 3,
    "pad_token_id": 2,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_interleaved": False,
    "rope_scaling": None,
    "rope_theta": 100000,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16", "fp16": "float16"}},
    "transformers_version": "4.42.3",
    "use_cache": True,
    "vocab_size": 49152,
}
LLAMA_3_2 = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 128000,
    "eos_token_id": [128001, 128008, 128009],
    "head_dim": 64,
    "hidden_act": "silu",
    "hidden_size": 2048,
    "initializer_range": 0.02,
    "intermediate_size": 8192,
    "max_position_embeddings": 131072,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 32,
    "num_hidden_layers": 16,
    "num_key_value_heads": 8,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 32.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.45.0.dev0",
    "use_cache": True,
    "vocab_size": 128256,
}
QWEN2_5 = {
    "architectures": ["Qwen2ForCausalLM"],
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "hidden_act": "silu",
    "hidden_size": 896,
    "initializer_range": 0.02,
    "intermediate_size": 4864,
    "max_position_embeddings": 32768,
    "max_window_layers": 21,
    "model_type": "qwen2",
    "num_attention_heads": 14,
    "num_hidden_layers": 24,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "sliding_window": 32768,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.43.1",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 151936,
}
QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 1024,
    "initializer_range": 0.02,
    "intermediate_size": 3072,
    "max_position_embeddings": 40960,
    "max_window_layers": 28,
    "model_type": "qwen3",
    "num_attention_heads": 16,
    "num_hidden_layers": 28,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.51.0",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 151936,
}
MISTRAL = {
    "architectures": ["MistralForCausalLM"],
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 4096,
    "initializer_range": 0.02,
    "intermediate_size": 14336,
    "max_position_embeddings": 32768,
    "model_type": "mistral",
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "sliding_window": 4096,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.34.0.dev0",
    "use_cache": True,
    "vocab_size": 32000,
}
LLAMA_3_SCALING = Llama3Scaling(
    factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192
)


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (SMOLLM2, 134_515_008),
        (LLAMA_3_2, 1_235_814_400),
        (QWEN2_5, 494_032_768),
        (QWEN3, 596_049_920),
        (MISTRAL, 7_241_732_096),
    ],
    ids=["smollm2", "llama3.2", "qwen2.5", "qwen3", "mistral"],
)
def test_published_files_are_read(config, parameters):
    spec = spec_from_config(config)
    assert count_parameters(build_decoder(spec, device="meta")) == parameters
    (name,) = config["architectures"]
    assert spec_from_config(config_from_spec(spec, name)) == spec
    written = config_from_spec(spec)
    assert spec_from_config(written) == spec
    assert written["architectures"] == [name]


def test_fields_become_what_they_stand_for():
    spec = spec_from_config(LLAMA_3_2, vocabulary=128_255)
    assert (spec.width, spec.layers, spec.heads, spec.kv_heads) == (2048, 16, 32, 8)
    assert (spec.head_width, spec.mlp_width, spec.context) == (64, 8192, 131_072)
    assert (spec.vocabulary, spec.padded_vocabulary) == (128_255, 128_256)
    assert (spec.norm_epsilon, spec.rope_base, spec.tied_head) == (1e-5, 500_000.0, True)
    assert spec.rope_scaling == LLAMA_3_SCALING
    assert spec_from_config(QWEN2_5).query_key_value_bias
    assert not spec_from_config(QWEN2_5).output_bias
    assert spec_from_config(QWEN3).query_key_norm
    assert spec_from_config(MISTRAL).attention.window == 4096
    assert spec_from_config(SMOLLM2).head_width == 64


def rope(**changes):
    """SmolLM2's configuration with other rotary fields; None takes one away."""
    config = {name: value for name, value in SMOLLM2.items() if not name.startswith("rope")}
    return config | changes


NEW_LINEAR = {"rope_theta": 100_000.0, "rope_type": "linear", "factor": 2.0}


@pytest.mark.parametrize(
    ("fields", "base", "scaling"),
    [
        ({}, 10_000.0, NoScaling()),
        ({"rope_scaling": None}, 10_000.0, NoScaling()),
        ({"rope_theta": 5e5, "rope_scaling": None}, 5e5, NoScaling()),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, 10_000.0, LinearScaling(factor=2.0)),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 7}}, 7.0, NoScaling()),
        ({"rope_parameters": NEW_LINEAR}, 1e5, LinearScaling(factor=2.0)),
        (
            {
                "rope_parameters": NEW_LINEAR,
                "rope_theta": 100_000,
                "rope_scaling": {"type": "linear", "rope_type": "linear", "factor": 2.0},
            },
            1e5,
            LinearScaling(factor=2.0),
        ),
        (
            {
                "rope_theta": 1e6,
                "rope_scaling": {
                    "type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 2048,
                    "attention_factor": None,
                },
            },
            1e6,
            YarnScaling(factor=4.0, original_context=2048),
        ),
    ],
)
def test_both_spellings_of_rotary_positions_are_read(fields, base, scaling):
    spec = spec_from_config(rope(**fields))
    assert (spec.rope_base, spec.rope_scaling) == (base, scaling)
    again = spec_from_config(config_from_spec(spec))
    assert (again.rope_base, again.rope_scaling) == (base, scaling)


def linear(**changes):
    return {"rope_type": "linear", "factor": 2.0} | changes


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rope_theta": 1}, "rope_theta: expected a number above 1"),
        ({"rope_theta": True}, "rope_theta: expected a number"),
        ({"rope_scaling": "linear"}, "rope_scaling: expected a table or null"),
        ({"rope_scaling": {"factor": 2.0}}, "rope_scaling.rope_type: missing"),
        ({"rope_scaling": linear(type="yarn")}, "rope_scaling.rope_type: expected one name"),
        ({"rope_scaling": linear(rope_type="dynamic")}, "only 'default', 'linear'.*got 'dynamic'"),
        ({"rope_scaling": linear(rope_type="lama3")}, "did you mean 'llama3'"),
        ({"rope_scaling": {"rope_type": "linear"}}, "rope_scaling.factor: missing"),
        ({"rope_scaling": linear(factor="2")}, "rope_scaling.factor: expected a number, got '2'"),
        ({"rope_scaling": linear(factor=0.5)}, "rope_scaling: .*factor"),
        ({"rope_scaling": linear(facter=2)}, "facter: unknown field; did you mean 'factor'"),
        ({"rope_scaling": linear(partial_rotary_factor=0.5)}, "only 1.0 is implemented, got 0.5"),
        (
            {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}},
            "low_freq_factor: missing(.|\n)*high_freq_factor: missing(.|\n)*"
            "original_max_position_embeddings: missing",
        ),
        (
            {"rope_scaling": linear(rope_type="yarn", original_max_position_embeddings=2.5)},
            "original_max_position_embeddings: expected a whole number, got 2.5",
        ),
        (
            {
                "rope_scaling": linear(
                    rope_type="yarn", original_max_position_embeddings=8, mscale=1.0
                )
            },
            "'mscale' and 'mscale_all' count only together",
        ),
        ({"rope_parameters": []}, "rope_parameters: expected a table"),
        ({"rope_parameters": linear()}, "rope_parameters.rope_theta: missing"),
        (
            {"rope_parameters": {"full_attention": NEW_LINEAR}},
            "rope_parameters.rope_type: missing",
        ),
        (
            {"rope_parameters": NEW_LINEAR, "rope_theta": 5e5},
            "rope_theta: contradicts rope_parameters",
        ),
        (
            {"rope_parameters": NEW_LINEAR, "rope_scaling": linear(factor=3.0)},
            "rope_scaling: contradicts rope_parameters",
        ),
        ({"rope_interleaved": True}, "rope_interleaved: only False is implemented"),
    ],
)
def test_rotary_positions_that_are_not_so_are_refused(fields, said):
    with pytest.raises(SettingsError, match=said):
        spec_from_config(rope(**fields))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (SMOLLM2 | {"architectures": ["GPT2LMHeadModel"]}, "architectures: expected one of Llama"),
        (SMOLLM2 | {"architectures": ["LlamaForCausaLM"]}, "did you mean 'LlamaForCausalLM'"),
        (SMOLLM2 | {"architectures": None}, "architectures: expected one of"),
        (SMOLLM2 | {"model_type": "qwen2"}, "model_type: LlamaForCausalLM is of type 'llama'"),
        (SMOLLM2 | {"hidden_sise": 3}, "hidden_sise: unknown field; did you mean 'hidden_size'"),
        (SMOLLM2 | {"quantization_config": {}}, "quantised weights are not implemented"),
        (SMOLLM2 | {"sliding_window": 4096}, "sliding_window: unknown field"),
        (SMOLLM2 | {"auto_map": {}}, "auto_map: unknown field"),
        (SMOLLM2 | {"hidden_act": "gelu"}, "hidden_act: only 'silu' is implemented, got 'gelu'"),
        (SMOLLM2 | {"attention_dropout": 0.1}, "attention_dropout: only 0.0 is implemented"),
        (SMOLLM2 | {"attention_bias": 1}, "attention_bias: expected true or false, got 1"),
        (SMOLLM2 | {"tie_word_embeddings": None}, "tie_word_embeddings: expected true or false"),
        (SMOLLM2 | {"num_hidden_layers": True}, "num_hidden_layers: expected a whole number"),
        (SMOLLM2 | {"vocab_size": 0}, "vocab_size: expected a whole number of at least 1"),
        (SMOLLM2 | {"num_key_value_heads": 2}, "'heads'.*multiple of 'kv_heads'"),
        (SMOLLM2 | {"num_key_value_heads": 2.0}, "num_key_value_heads: expected a whole number"),
        (SMOLLM2 | {"num_attention_heads": 7}, "hidden_size: 576 is no multiple"),
        (SMOLLM2 | {"rms_norm_eps": 0}, "rms_norm_eps: expected a number above 0"),
        (QWEN2_5 | {"attention_bias": True}, "attention_bias: unknown field"),
        (QWEN2_5 | {"use_mrope": True}, "use_mrope: only False is implemented"),
        (QWEN2_5 | {"use_sliding_window": True, "sliding_window": None}, "sliding_window: missing"),
        (
            QWEN2_5 | {"use_sliding_window": True, "max_window_layers": None},
            "max_window_layers: expected a number of layers",
        ),
        (QWEN3 | {"sliding_window": 0}, "sliding_window: expected a number of tokens or null"),
        (QWEN3 | {"layer_types": ["full_attention"]}, "layer_types: expected a list of 28 names"),
        (
            QWEN3 | {"layer_types": ["full_atention"] * 28},
            "layer_types: only .* got 'full_atention'; did you mean 'full_attention'",
        ),
        (
            QWEN3 | {"layer_types": ["sliding_attention"] * 28},
            "layer_types: has layers with a window",
        ),
    ],
)
def test_what_is_not_implemented_or_not_known_is_refused(config, said):
    with pytest.raises(LimiteError, match=said):
        spec_from_config(config)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        (SMOLLM2, "hidden_size"),
        (SMOLLM2, "hidden_act"),
        (SMOLLM2, "rms_norm_eps"),
        (SMOLLM2, "tie_word_embeddings"),
        (SMOLLM2, "model_type"),
        (QWEN3, "head_dim"),
        (MISTRAL, "sliding_window"),
    ],
)
def test_what_must_be_said_is_missed(config, field):
    with pytest.raises(SettingsError, match=f"{field}: missing"):
        spec_from_config({name: value for name, value in config.items() if name != field})


def test_all_mistakes_are_told_at_once():
    wrong = SMOLLM2 | {"hidden_act": "relu", "layers": 3, "rope_theta": 0, "vocab_size": -1}
    del wrong["hidden_size"]
    with pytest.raises(SettingsError) as caught:
        spec_from_config(wrong)
    fields = {mistake.path for mistake in caught.value.mistakes}
    assert fields == {"hidden_act", "layers", "rope_theta", "vocab_size", "hidden_size"}


def test_older_files_have_as_many_key_value_heads_as_heads():
    config = {name: value for name, value in SMOLLM2.items() if name != "num_key_value_heads"}
    assert spec_from_config(config).kv_heads == 9


def test_a_tokenizer_with_more_ids_than_rows_is_refused():
    with pytest.raises(SettingsError, match="vocab_size: the tokenizer has more ids: 49153"):
        spec_from_config(SMOLLM2, vocabulary=49_153)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "LlamaForCausalLM"),
        ({"query_key_value_bias": True, "output_bias": True}, "LlamaForCausalLM"),
        ({"mlp_bias": True}, "LlamaForCausalLM"),
        ({"query_key_value_bias": True}, "Qwen2ForCausalLM"),
        ({"query_key_norm": True}, "Qwen3ForCausalLM"),
        ({"attention": "local"}, "MistralForCausalLM"),
        ({"attention": "local", "query_key_norm": True}, "Qwen3ForCausalLM"),
    ],
)
def test_a_model_is_written_as_the_architecture_that_has_all_of_it(changes, name):
    spec = LlamaSpec(vocabulary=40, **changes).filled()
    config = config_from_spec(spec, dtype="bfloat16")
    assert config["architectures"] == [name]
    assert config["torch_dtype"] == config["dtype"] == "bfloat16"
    again = spec_from_config(config)
    assert attrs.evolve(again, attention=spec.attention) == spec


@pytest.mark.parametrize(
    ("changes", "name", "said"),
    [
        ({"output_bias": True}, None, "LlamaForCausalLM: its query_key_value_bias and output_bias"),
        ({"mlp_bias": True, "query_key_norm": True}, None, "Qwen3ForCausalLM: its mlp_bias is fal"),
        ({"attention_scale": 0.5}, None, "its attention_scale is head_width to the power of -1/2"),
        ({"attention": "global"}, None, "cannot say the attention 'global'"),
        ({"attention": "local-global"}, None, "cannot say the attention 'local-global'"),
        ({"width": 65}, None, "its width is a multiple of its heads"),
        ({"query_key_norm": True}, "LlamaForCausalLM", "its query_key_norm is false"),
        ({"attention": "local"}, "LlamaForCausalLM", "its layers see everything"),
        ({}, "Qwen2ForCausalLM", "its query_key_value_bias is true"),
        ({}, "LamaForCausalLM", "did you mean 'LlamaForCausalLM'"),
    ],
)
def test_what_no_file_can_say_is_not_written(changes, name, said):
    with pytest.raises(LimiteError, match=said):
        config_from_spec(LlamaSpec(vocabulary=40, **changes), name)


def test_files_call_every_parameter_by_a_name_of_its_own():
    spec = attrs.evolve(spec_from_config(QWEN3), layers=1, tied_head=False)
    names = [name for name, _ in build_decoder(spec, device="meta").named_parameters()]
    assert len({file_name(name) for name in names}) == len(names)
    assert file_name("layers.0.mlp.up_proj.weight") == "model.layers.0.mlp.up_proj.weight"
    assert file_name("lm_head.weight") == "lm_head.weight"


def test_only_the_frequencies_of_its_own_layers_are_derived():
    assert derived_names(attrs.evolve(spec_from_config(QWEN3), layers=2)) == {
        "model.rotary_emb.inv_freq",
        "model.layers.0.self_attn.rotary_emb.inv_freq",
        "model.layers.1.self_attn.rotary_emb.inv_freq",
    }
