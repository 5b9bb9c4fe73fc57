"""Models of Llama's family as settings."""

from __future__ import annotations

import math

import pytest

from limite.core.config import structure, unstructure
from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.model.init import build_decoder, count_parameters
from limite.core.model.llama.scaling import (
    LinearScaling,
    Llama3Scaling,
    NoScaling,
    RopeScaling,
    YarnScaling,
)
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.settings import Model
from limite.core.recipe.recipe import Recipe
from limite.core.seeds import Seeds
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local_global import LocalGlobal


def test_what_is_not_said_is_derived_from_the_rest():
    spec = LlamaSpec(heads=4, kv_heads=2, head_width=16).filled(50)
    assert (spec.vocabulary, spec.padded_vocabulary) == (50, 50)
    assert spec.attention_scale == 0.25
    assert spec.attention == Global(rotary=True)
    assert spec.filled() == spec
    assert LlamaSpec(vocabulary=9).filled(50).vocabulary == 9


def test_a_vocabulary_must_come_from_somewhere():
    with pytest.raises(ValueError, match="vocabulary"):
        LlamaSpec().filled()


def test_contradictions_are_told_at_once():
    with pytest.raises(ValueError, match="heads") as caught:
        LlamaSpec(heads=3, kv_heads=2, head_width=15, vocabulary=9, padded_vocabulary=8)
    assert str(caught.value).splitlines() == [
        "'heads' (3) must be a multiple of 'kv_heads' (2)",
        "'head_width' (15) must be even",
        "'vocabulary' (9) must be at most 'padded_vocabulary' (8)",
    ]


@pytest.mark.parametrize(
    "settings",
    [{"layers": 0}, {"norm_epsilon": 0.0}, {"rope_base": 1.0}, {"context": 1}, {"head_width": 0}],
)
def test_no_number_may_be_out_of_range(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        LlamaSpec(**settings)


def test_a_recipe_says_it_in_plain_settings():
    yarn = {"type": "yarn", "factor": 4.0, "original_context": 32}
    attention = {"type": "local-global", "window": 8, "global_layers": [1], "global_rotary": True}
    plain = {
        "type": "llama",
        "layers": 2,
        "attention": attention,
        "rope_scaling": yarn,
        "query_key_norm": True,
    }
    registry = load_registry()
    recipe = {"name": "small", "model": plain, "stages": {}}
    model = structure(recipe | {"stages": STAGES}, Recipe, registry).model
    assert model == LlamaSpec(
        layers=2,
        attention=LocalGlobal(window=8, global_layers=(1,), global_rotary=True),
        rope_scaling=YarnScaling(factor=4.0, original_context=32),
        query_key_norm=True,
    )
    assert structure(unstructure(model, registry), Model, registry) == model
    decoder = model.decoder(40, Seeds(3))
    assert count_parameters(decoder) > 0


STAGES = {"sft": {"type": "sft", "problems": {"sources": {"sum-chain": 1.0}}, "steps": 1}}


@pytest.mark.parametrize(
    ("scaling", "said"),
    [
        ({"type": "yarm", "factor": 2.0}, "did you mean 'yarn'"),
        ({"type": "linear"}, "factor"),
        ({"type": "linear", "factor": 0.5}, "factor"),
        (
            {
                "type": "llama3",
                "factor": 2.0,
                "original_context": 8,
                "low_freq_factor": 4.0,
                "high_freq_factor": 4.0,
            },
            "'high_freq_factor' \\(4\\) must be above 'low_freq_factor' \\(4\\)",
        ),
        (
            {"type": "yarn", "factor": 2.0, "original_context": 8, "beta_fast": 0.5, "mscale": 1.0},
            "'beta_fast' \\(0.5\\) must be at least(.|\n)*'mscale' and 'mscale_all' count only",
        ),
    ],
)
def test_scalings_that_cannot_be_are_refused(scaling, said):
    with pytest.raises(SettingsError, match=said):
        structure({"type": "llama", "rope_scaling": scaling}, Model, load_registry())


def test_yarn_makes_turns_longer():
    length = 0.1 * math.log(4.0) + 1
    assert YarnScaling(factor=4.0, original_context=8).strength == length
    told = YarnScaling(factor=4.0, original_context=8, attention_factor=1.0)
    assert told.strength == 1.0
    both = YarnScaling(factor=4.0, original_context=8, mscale=1.0, mscale_all=1.0)
    assert both.strength == 1.0
    for plain in (
        NoScaling(),
        LinearScaling(factor=2.0),
        Llama3Scaling(factor=2.0, original_context=8),
    ):
        assert plain.strength == 1.0


def test_a_missing_type_is_no_scaling():
    assert structure({}, RopeScaling, load_registry()) == NoScaling()


def test_the_first_values_follow_the_seed_and_leave_blocks_plain():
    spec = LlamaSpec(vocabulary=40, query_key_norm=True, query_key_value_bias=True, tied_head=False)
    one, same, other = (dict(build_decoder(spec, n).named_parameters()) for n in (3, 3, 4))
    assert all((one[name] == same[name]).all() for name in one)
    for name, parameter in one.items():
        if name.endswith("norm.weight"):
            assert (parameter == 1).all()
        elif name.endswith("bias"):
            assert (parameter == 0).all()
        else:
            assert (parameter != other[name]).any()
            fan_in = parameter.shape[1] ** -0.5
            shrink = 8**-0.5 if "o_proj" in name or "down_proj" in name else 1.0
            assert parameter.std().item() == pytest.approx(fan_in * shrink, rel=0.1)
