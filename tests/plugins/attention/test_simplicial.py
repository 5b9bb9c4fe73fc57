"""2-simplicial attention against its formula, in layers and in whole models."""

from __future__ import annotations

import attrs
import pytest
import torch

from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.kernels.layout import Layout
from limite.core.kinds import Attention
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.resolve import attention_component, unstructured
from limite.core.model.spec import AttentionShape, ModelSpec
from limite.core.seeds import Seeds
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local
from limite.plugins.attention.local_global import LocalGlobal
from limite.plugins.attention.pairs import SimplicialMixer
from limite.plugins.attention.simplicial import Simplicial
from limite.plugins.attention.window import WindowMixer

SHAPE = AttentionShape(layer=3, layers=4, heads=4, kv_heads=2, head_width=7, width=28, scale=0.3)


def drawn(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def mixer_and_streams(component, tokens):
    mixer = component.build(SHAPE)
    mixer.initialise(Seeds(4))
    streams = (drawn(tokens, 4, 7), drawn(tokens, 2, 7, seed=1), drawn(tokens, 2, 7, seed=2))
    return mixer.double(), (*streams, drawn(tokens, 28, seed=3))


def by_formula(mixer, queries, keys, values, inputs, score):
    """Token by token, pair by pair."""
    tokens = len(queries)
    k2 = (inputs @ mixer.k2_proj.weight.T + 1).view(tokens, 2, 7)
    k2 = k2 / k2.square().mean(-1, keepdim=True).sqrt()
    v2 = (inputs @ mixer.v2_proj.weight.T + 1).view(tokens, 2, 7)
    out = torch.zeros_like(queries)
    for i in range(tokens):
        for head in range(4):
            own = head // 2
            pairs = [
                (j, k)
                for j in range(max(0, i - mixer.window1 + 1), i + 1)
                for k in range(max(0, i - mixer.window2 + 1), i + 1)
            ]
            scores = torch.stack(
                [score(queries[i, head], keys[j, own], k2[k, own]) for j, k in pairs]
            )
            mixed = torch.stack([values[j, own] * v2[k, own] for j, k in pairs])
            out[i, head] = (0.3 * scores).softmax(0) @ mixed
    return out


def trilinear(a, b, c):
    return (a * b * c).sum()


def determinants(a, b, c):
    return sum(
        torch.linalg.det(torch.stack((a[i : i + 3], b[i : i + 3], c[i : i + 3]))) for i in (0, 3)
    )


@pytest.mark.parametrize(("window1", "window2"), [(5, 2), (2, 4), (1, 1), (50, 3)])
@pytest.mark.parametrize(
    ("form", "score"), [("trilinear", trilinear), ("determinant", determinants)]
)
def test_a_layer_is_its_formula(window1, window2, form, score):
    component = Simplicial(window1=window1, window2=window2, form=form)
    mixer, streams = mixer_and_streams(component, 9)
    with torch.no_grad():
        out = mixer(*streams, Layout.from_lengths([9]))
        # The norm's epsilon is not in the formula: 2^-23.
        torch.testing.assert_close(out, by_formula(mixer, *streams, score), rtol=1e-6, atol=1e-7)


def test_determinants_of_turned_triples_know_distances_alone():
    component = Simplicial(window1=4, window2=3, form="determinant", rotary=True)
    mixer, streams = mixer_and_streams(component, 12)
    assert not mixer.rotary, "the block would turn pairs of channels"
    still, _ = mixer_and_streams(attrs.evolve(component, rotary=False), 12)
    with torch.no_grad():
        whole = mixer(*streams, Layout.from_lengths([12]))
        late = mixer(*(x[5:] for x in streams), Layout.from_lengths([7]))
        torch.testing.assert_close(whole[8:], late[3:], rtol=1e-12, atol=1e-12)
        assert (still(*streams, Layout.from_lengths([12])) - whole).abs().max() > 1e-3


def test_trilinear_leaves_the_turns_to_the_block():
    assert Simplicial(rotary=True).build(SHAPE).rotary
    assert not Simplicial().build(SHAPE).rotary


@pytest.mark.parametrize(
    ("component", "layers"),
    [
        (Simplicial(), {3, 7}),
        (Simplicial(every=3), {2, 5}),
        (Simplicial(layers=(0, 6)), {0, 6}),
        (Simplicial(layers=()), set()),
        (Simplicial(layers=(0,), other=Simplicial(layers=(4,), other=Local())), {0, 4}),
    ],
)
def test_the_pattern_says_which_layers(component, layers):
    mixers = [component.build(attrs.evolve(SHAPE, layer=i, layers=8)) for i in range(8)]
    assert {i for i in range(8) if isinstance(mixers[i], SimplicialMixer)} == layers
    assert all(isinstance(mixers[i], WindowMixer) for i in set(range(8)) - layers)


def test_settings_can_nest_another_attention():
    said = {"type": "simplicial", "layers": [1], "other": {"type": "local", "window": 5}}
    component = attention_component(said)
    assert component == Simplicial(layers=(1,), other=Local(window=5))
    assert attention_component(unstructured(component)) == component
    with pytest.raises(SettingsError, match=r"layers: .*rising order"):
        attention_component({"type": "simplicial", "layers": [2, 1]})
    assert isinstance(component, Attention)
    assert load_registry().name_of(Simplicial) == "simplicial"


def test_first_values_depend_on_the_name_alone():
    spec = ModelSpec(vocabulary=11, attention=Simplicial(every=2))
    one, same = build_decoder(spec, 5), build_decoder(attrs.evolve(spec, mlp_width=8), 5)
    name = "layers.1.self_attn.mixer.k2_proj.weight"
    weights = dict(one.named_parameters())
    assert torch.equal(weights[name], dict(same.named_parameters())[name])
    assert not torch.equal(weights[name], weights[name.replace("layers.1", "layers.3")])
    assert not torch.equal(weights[name], weights[name.replace("k2", "v2")])
    assert weights[name].std().item() == pytest.approx(64**-0.5, rel=0.1)
    half = build_decoder(spec, 5, dtype=torch.bfloat16)
    assert dict(half.named_parameters())[name].dtype == torch.bfloat16


ATTENTIONS = {
    "global": Global(),
    "local": Local(window=5),
    "local-global": LocalGlobal(window=3, global_every=2),
    "simplicial": Simplicial(window1=6, window2=3, every=2, other=LocalGlobal(window=3)),
}
SPECS = {
    "limite": ModelSpec(vocabulary=23, heads=6, kv_heads=2, head_width=8, width=48, mlp_width=40),
    "llama": LlamaSpec(vocabulary=23, heads=6, kv_heads=2, head_width=8, width=48, mlp_width=40),
}


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("family", SPECS)
def test_every_attention_decodes_grouped_heads_exactly(family, attention):
    spec = attrs.evolve(SPECS[family], attention=ATTENTIONS[attention])
    decoder = build_decoder(spec, 1, dtype=torch.float64)
    tokens = torch.randint(0, 23, (40,), generator=torch.Generator().manual_seed(2))
    layout = Layout.from_lengths([22, 18])
    with torch.no_grad():
        whole = decoder(tokens, layout).split(layout.lengths)
    rows = tokens.split(layout.lengths)
    cache = decoder.new_cache(2, 22)
    got = [[], []]
    for start, stop in ((0, 9), (9, 16)):
        chunk = Layout.from_lengths([stop - start] * 2)
        found = decoder.extend(torch.cat([row[start:stop] for row in rows]), chunk, cache)
        for into, part in zip(got, found.split(chunk.lengths), strict=True):
            into.append(part)
    for place in (16, 17):
        found = decoder.step(torch.stack([row[place] for row in rows]), cache)
        for into, part in zip(got, found.split(1), strict=True):
            into.append(part)
    for mine, full in zip(got, whole, strict=True):
        torch.testing.assert_close(torch.cat(mine), full[:18], rtol=1e-9, atol=1e-10)


def test_a_cache_of_pairs_is_as_large_as_its_windows():
    mixer = Simplicial(window1=48, window2=5).build(SHAPE)
    sizes = [
        mixer.new_cache(3, capacity, torch.float32, torch.device("meta")).bytes
        for capacity in (60, 5000)
    ]
    assert sizes == [3 * 2 * 7 * 2 * (48 + 5) * 4] * 2


def test_arithmetic_counts_pairs():
    mixer = Simplicial(window1=5, window2=2).build(SHAPE)
    pairs = [1, 2 * 2, 3 * 2, 4 * 2, 5 * 2, 5 * 2, 5 * 2]
    assert [mixer.arithmetic(n) for n in range(8)] == [4 * 4 * 7 * sum(pairs[:n]) for n in range(8)]
