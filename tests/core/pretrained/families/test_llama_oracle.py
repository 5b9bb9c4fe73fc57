"""Decoders of Llama's family against transformers, with random weights of its own making."""

from __future__ import annotations

import inspect
import itertools
import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from limite.core.kernels.layout import Layout
from limite.core.model.init import build_decoder
from limite.core.model.llama.rope import LlamaRotary
from limite.core.pretrained.directory import file_name
from limite.core.pretrained.families.llama import config_from_spec, spec_from_config
from tests.core.pretrained.families.conftest import NAMES, ROPE, Kind, load, make, written

CLOSE = 1e-5
"""Of the largest logit, in float32: sums in another order, through three layers."""


def windows_of(name):
    return {"Llama": ["none"], "Mistral": ["none", "all"]}.get(name, ["none", "some", "all"])


KINDS = [
    Kind(name=name, rope=rope, tied=tied, windows=windows, kv_heads=kv_heads)
    for name in NAMES
    for rope, tied, windows, kv_heads in itertools.product(
        ROPE, (True, False), windows_of(name), (1, 2, 4)
    )
]
FEW = [
    Kind(name="Llama", rope="llama3", bias=True),
    Kind(name="Llama", rope="linear", tied=True, kv_heads=4),
    Kind(name="Qwen2", rope="yarn", windows="some", tied=True),
    Kind(name="Qwen3", windows="some", kv_heads=1, head_dim=16, bias=True),
    Kind(name="Mistral", rope="default", windows="all"),
]


def distance(found, expected):
    """The largest difference, as a part of the largest number."""
    return ((found.double() - expected.double()).abs().max() / expected.abs().max()).item()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_logits_are_those_of_transformers(kind):
    both = make(kind)
    rows = both.rows([9, 1, 23])
    with torch.no_grad():
        found, expected = both.ours.logits(both.hidden(rows)), both.reference(rows)
    assert distance(found, expected) < CLOSE


@pytest.mark.parametrize("kind", FEW, ids=str)
def test_logits_in_float64(kind, monkeypatch):
    """Their norms reckon in float32; here they are made to do so in float64."""
    both = make(kind, torch.float64)

    def norm(self, hidden):
        wide = hidden * (hidden.square().mean(-1, keepdim=True) + self.variance_epsilon).rsqrt()
        return self.weight * wide

    for module in both.theirs.modules():
        if type(module).__name__.endswith("RMSNorm"):
            monkeypatch.setattr(type(module), "forward", norm)
    rows = both.rows([9, 1, 23])
    with torch.no_grad():
        found, expected = both.ours.logits(both.hidden(rows)), both.reference(rows)
    assert distance(found, expected) < 1e-12


@pytest.mark.parametrize("kind", FEW, ids=str)
def test_cached_decoding_is_that_of_a_left_padded_batch(kind, pair):
    both = pair(kind)
    prompts = both.rows([7, 2, 12], seed=3)
    later = torch.stack(both.rows([8] * 3, seed=4))  # [3, 8]
    longest = max(map(len, prompts))
    ids, mask = torch.zeros(2, 3, longest, dtype=torch.int64)
    for row, prompt in enumerate(prompts):
        ids[row, longest - len(prompt) :], mask[row, longest - len(prompt) :] = prompt, 1
    layout = Layout.from_lengths([len(prompt) for prompt in prompts])
    cache = both.ours.new_cache(3, 32)
    parameters = inspect.signature(both.theirs.forward).parameters
    name = "cache" if "cache" in parameters else "past_key_values"
    past = {name: transformers.DynamicCache(config=both.theirs.config), "use_cache": True}
    with torch.no_grad():
        hidden = both.ours.extend(torch.cat(prompts), layout, cache)
        theirs = both.theirs(ids, attention_mask=mask, position_ids=_positions(mask), **past)
        assert distance(both.ours.logits(hidden), theirs.logits[mask.bool()]) < CLOSE
        for column in range(later.shape[1]):
            mask = torch.cat((mask, torch.ones(3, 1, dtype=torch.int64)), 1)
            theirs = both.theirs(
                later[:, column, None],
                attention_mask=mask,
                position_ids=_positions(mask)[:, -1:],
                **past,
            )
            hidden = both.ours.step(later[:, column], cache)
            assert distance(both.ours.logits(hidden), theirs.logits[:, 0]) < CLOSE


def _positions(mask):
    return (mask.cumsum(1) - 1).clamp(min=0)


@pytest.mark.parametrize("kind", FEW, ids=str)
def test_chunks_are_as_good_as_the_whole(kind, pair):
    both = pair(kind)
    rows = both.rows([20, 14], seed=5)
    cache, found = both.ours.new_cache(2, 24), [[], []]
    with torch.no_grad():
        for chunk in ([6, 0], [1, 9], [8, 1], [5, 4]):
            starts = cache.seen
            parts = [
                row[start : start + size]
                for row, start, size in zip(rows, starts, chunk, strict=True)
            ]
            hidden = both.ours.extend(torch.cat(parts), Layout.from_lengths(chunk), cache)
            for row, logits in enumerate(both.ours.logits(hidden).split(chunk)):
                found[row].append(logits)
        expected = both.reference(rows)
    assert distance(torch.cat([torch.cat(parts) for parts in found]), expected) < CLOSE


@pytest.mark.parametrize("kind", FEW, ids=str)
def test_greedy_tokens_are_the_same(kind, pair):
    both = pair(kind)
    (prompt,) = both.rows([6], seed=6)
    expected = both.theirs.generate(
        prompt[None],
        attention_mask=torch.ones(1, 6, dtype=torch.int64),
        max_new_tokens=30,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )[0, 6:]
    cache, found = both.ours.new_cache(1, 64), []
    hidden = both.ours.extend(prompt, Layout.from_lengths([6]), cache)[-1:]
    for _ in range(30):
        token = both.ours.logits(hidden).argmax(-1)
        found.append(token.item())
        hidden = both.ours.step(token, cache)
    assert found == expected.tolist()


@pytest.mark.parametrize("kind", FEW, ids=str)
def test_log_probabilities_and_gradients_are_the_same(kind):
    both = make(kind)
    rows = both.rows([11, 4], seed=7)
    targets = torch.cat([row.roll(-1) for row in rows])
    upstream = torch.linspace(-1, 1, len(targets))
    whole = both.reference(rows).float().log_softmax(-1)
    expected = whole.gather(1, targets[:, None]).squeeze(1)
    found, entropy = both.ours.log_probabilities(both.hidden(rows), targets, entropy=True)
    assert distance(found, expected) < CLOSE
    assert distance(entropy, -(whole.exp() * whole).sum(-1)) < CLOSE
    (expected * upstream).sum().backward()
    (found * upstream).sum().backward()
    gradients = {name: each.grad for name, each in both.theirs.named_parameters()}
    for name, parameter in both.ours.named_parameters():
        assert distance(parameter.grad, gradients[file_name(name)]) < 1e-4, name


@pytest.mark.parametrize("kind", FEW, ids=str)
def test_transformers_loads_what_we_write(kind, tmp_path):
    both = make(kind)
    plain = config_from_spec(both.ours.spec, f"{kind.name}ForCausalLM", dtype="float32")
    (tmp_path / "config.json").write_text(json.dumps(plain))
    tensors = {file_name(name): each.detach() for name, each in both.ours.named_parameters()}
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    assert type(loaded) is type(both.theirs)
    rows = both.rows([9, 23], seed=8)
    with torch.no_grad():
        expected = both.reference(rows)
        again = torch.cat([loaded(row[None]).logits[0] for row in rows])
    assert torch.equal(again, expected)
    assert spec_from_config(written(loaded.config)) == both.ours.spec


@pytest.mark.parametrize("kind", FEW, ids=str)
def test_we_load_what_transformers_saves(kind, tmp_path):
    both = make(kind)
    both.theirs.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    spec = spec_from_config(config)
    assert spec == both.ours.spec
    decoder = build_decoder(spec, seed=9)
    load(decoder, load_file(tmp_path / "model.safetensors"))
    rows = both.rows([9, 23], seed=8)
    layout = Layout.from_lengths([9, 23])
    assert torch.equal(decoder(torch.cat(rows), layout), both.hidden(rows))


def test_logits_in_bfloat16_are_those_of_transformers_but_for_rounding():
    for kind in FEW:
        both, exact = make(kind, torch.bfloat16), make(kind, torch.float64)
        load(exact.ours, both.theirs.state_dict())
        rows = both.rows([9, 23], seed=10)
        with torch.no_grad():
            truth = exact.ours.logits(exact.hidden(rows))
            found = distance(both.ours.logits(both.hidden(rows)), truth)
            expected = distance(both.reference(rows), truth)
        assert found < 1.5 * expected < 0.2, (found, expected)


YARN = {
    "rope_type": "yarn",
    "rope_theta": 1_000_000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32_768,
}
TURNS = [
    {"rope_type": "default", "rope_theta": 1_000_000},
    {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 2},
    {**ROPE["llama3"], "rope_theta": 500_000.0, "original_max_position_embeddings": 8192},
    {**ROPE["llama3"], "factor": 32.0, "original_max_position_embeddings": 8192},
    YARN,
    {**YARN, "beta_fast": 16, "beta_slow": 2, "truncate": False},
    {**YARN, "attention_factor": 1.25},
    {**YARN, "mscale": 1.0, "mscale_all_dim": 0.5, "factor": 40.0},
    {**YARN, "rope_theta": 2.0, "original_max_position_embeddings": 12},  # a step, not a slope
]


@pytest.mark.parametrize("head_dim", [16, 64, 128])
@pytest.mark.parametrize("turns", TURNS, ids=lambda turns: turns["rope_type"])
def test_turns_are_those_of_transformers_to_the_bit(turns, head_dim):
    config = transformers.LlamaConfig(
        hidden_size=4 * head_dim,
        num_attention_heads=4,
        head_dim=head_dim,
        max_position_embeddings=131_072,
        rope_parameters=dict(turns),
    )
    theirs = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(config)
    spec = spec_from_config(written(config))
    ours = LlamaRotary(spec.head_width, spec.rope_base, spec.rope_scaling)
    positions = torch.tensor([0, 1, 77, 8191, 131_071])
    cos, sin = theirs(torch.zeros(1), positions[None])
    found = ours.at(positions)
    assert torch.equal(found.cos.repeat(1, 2), cos[0])
    assert torch.equal(found.sin.repeat(1, 2), sin[0])


def test_partly_windowed_layers_may_be_named():
    types = ["sliding_attention", "full_attention", "sliding_attention"]
    both = make(Kind(name="Qwen3"), layer_types=types, use_sliding_window=True, sliding_window=4)
    rows = both.rows([15, 3])
    with torch.no_grad():
        assert distance(both.ours.logits(both.hidden(rows)), both.reference(rows)) < CLOSE
    assert both.ours.spec.attention.global_layers == (1,)


@pytest.mark.parametrize("kind", FEW, ids=str)
def test_what_we_write_is_what_transformers_writes_of_it(kind):
    both = make(kind)
    plain = config_from_spec(both.ours.spec, f"{kind.name}ForCausalLM")
    config = getattr(transformers, f"{kind.name}Config")(**plain)
    assert spec_from_config(written(config)) == spec_from_config(plain) == both.ours.spec
