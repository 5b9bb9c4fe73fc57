"""A critic's directory: read by transformers, read from it, and refused where it is none."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from limite.core.errors import LimiteError, SettingsError
from limite.core.kernels.layout import Layout
from limite.core.model.critic import Critic, critic_from
from limite.core.model.init import build_decoder, unset_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.presets import preset
from limite.core.model.settings import DecoderSpec
from limite.core.pretrained.critic import (
    CriticDirectory,
    critic_config,
    load_critic,
    save_critic,
    start_critic,
)
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.settings import at
from limite.plugins.attention.local import Local
from limite.plugins.attention.simplicial import Simplicial
from tests.core.pretrained.conftest import FailAt
from tests.core.pretrained.words import write_words

LLAMA = LlamaSpec(
    vocabulary=61,
    width=48,
    layers=2,
    heads=4,
    kv_heads=2,
    head_width=12,
    mlp_width=80,
    context=64,
    tied_head=False,
)
FAMILIES = {
    "Llama": LLAMA,
    "LlamaTied": attrs.evolve(LLAMA, tied_head=True),
    "Mistral": attrs.evolve(LLAMA, attention=Local(window=5)),
    "Qwen2": attrs.evolve(LLAMA, query_key_value_bias=True),
    "Qwen3": attrs.evolve(LLAMA, query_key_norm=True, tied_head=True),
}
LIMITE = attrs.evolve(preset("limite-tiny"), vocabulary=61, context=64)
OURS: dict[str, Any] = {
    "Limite": LIMITE,
    "LimiteVariant": attrs.evolve(LIMITE, attention=Simplicial(window1=6, window2=3, every=2)),
    "LlamaVariant": attrs.evolve(LLAMA, attention=Simplicial(window1=6, window2=3, every=2)),
}
EVERY = pytest.mark.parametrize(
    "spec", [*FAMILIES.values(), *OURS.values()], ids=[*FAMILIES, *OURS]
)
OTHERS = pytest.mark.parametrize(("name", "spec"), FAMILIES.items(), ids=FAMILIES)
LENGTHS = [19, 1, 11]


def make(spec: DecoderSpec, dtype: torch.dtype = torch.float32) -> Critic:
    """A critic with a head, biases and norms that count."""
    critic = critic_from(build_decoder(spec, 4, dtype=dtype), bias=0.4, seed=7)
    noise = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in critic.trunk.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=noise) * 0.1)
    return critic


def rows() -> list[Tensor]:
    draw = torch.Generator().manual_seed(1)
    return [torch.randint(61, (length,), generator=draw) for length in LENGTHS]


def values(critic: Critic) -> Tensor:
    with torch.no_grad():
        return critic.values(torch.cat(rows()), Layout.from_lengths(LENGTHS))


def scores(theirs: Any) -> Tensor:
    with torch.no_grad():
        return torch.cat([theirs(row[None]).logits[0, :, 0] for row in rows()])


def assert_close(found: Tensor, expected: Tensor) -> None:
    """Within 1e-5 of the largest value, in float32: sums in another order, through two layers."""
    assert expected.std() > 0.1, "values that differ from token to token"
    assert (found - expected).abs().max() <= 1e-5 * expected.abs().max()


def edit(directory: Path, **changes: Any) -> None:
    """Changes fields of the configuration; None removes one."""
    file = directory / "config.json"
    config = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({name: each for name, each in config.items() if each is not None}))


@EVERY
def test_what_is_saved_loads_to_the_same_values(spec: Any, tmp_path: Path) -> None:
    critic = make(spec)
    save_critic(critic, tmp_path / "critic")
    found = load_critic(tmp_path / "critic")
    mine, theirs = critic.state_dict(), found.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert torch.equal(values(found), values(critic))
    said: Any = critic.spec
    assert found.spec == attrs.evolve(said, attention=found.spec.attention)


@EVERY
def test_the_files_are_the_actors_with_another_head(spec: DecoderSpec, tmp_path: Path) -> None:
    actor = build_decoder(spec, 4)
    save_pretrained(actor, tmp_path / "actor")
    save_critic(critic_from(actor, bias=0.5), tmp_path / "critic")
    left, right = (load_file(tmp_path / each / "model.safetensors") for each in ("actor", "critic"))
    left.pop("lm_head.weight", None)
    assert right.pop("score.weight").shape == (1, spec.width)
    assert torch.equal(right.pop("score.bias"), torch.tensor([0.5]))
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)
    config = json.loads((tmp_path / "critic" / "config.json").read_text())
    assert config == critic_config(json.loads((tmp_path / "actor" / "config.json").read_text()))
    assert config["num_labels"] == 1
    assert config["architectures"] == [
        {
            "limite": "LimiteForTokenClassification",
            "limite-variant": "LimiteVariantForTokenClassification",
            "llama": "LlamaForTokenClassification",
            "mistral": "MistralForTokenClassification",
            "qwen2": "Qwen2ForTokenClassification",
            "qwen3": "Qwen3ForTokenClassification",
        }[config["model_type"]]
    ]


@OTHERS
def test_transformers_finds_the_same_values(name: str, spec: LlamaSpec, tmp_path: Path) -> None:
    critic = make(spec)
    save_critic(critic, tmp_path / "critic", shard_bytes=40_000)
    assert len(list((tmp_path / "critic").glob("*.safetensors"))) > 2
    theirs, told = transformers.AutoModelForTokenClassification.from_pretrained(
        tmp_path / "critic", output_loading_info=True
    )
    assert type(theirs).__name__ == name.removesuffix("Tied") + "ForTokenClassification"
    assert not any(told.values()), told
    assert (theirs.num_labels, theirs.dropout.p) == (1, 0.0)
    assert_close(scores(theirs.eval()), values(critic))


@OTHERS
def test_we_find_the_values_of_what_transformers_writes(
    name: str, spec: LlamaSpec, tmp_path: Path
) -> None:
    config_class = getattr(transformers, name.removesuffix("Tied") + "Config")
    save_critic(make(spec), tmp_path / "critic")
    plain = json.loads((tmp_path / "critic" / "config.json").read_text())
    for field in ("architectures", "num_labels", "id2label", "label2id", "classifier_dropout"):
        del plain[field]
    classifiers: Any = transformers.AutoModelForTokenClassification
    theirs = classifiers.from_config(config_class(**plain, num_labels=1)).eval()
    noise = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=noise) * 0.2)
    theirs.save_pretrained(tmp_path / "theirs")
    assert_close(values(load_critic(tmp_path / "theirs")), scores(theirs))


def test_the_head_stays_in_float32_beside_half_a_trunk(tmp_path: Path) -> None:
    critic = make(LLAMA)
    save_critic(critic, tmp_path / "critic", dtype="bfloat16")
    stored = load_file(tmp_path / "critic" / "model.safetensors")
    assert {each.dtype for name, each in stored.items() if name.startswith("model.")} == {
        torch.bfloat16
    }
    assert torch.equal(stored["score.weight"], critic.value_head.weight)
    found = load_critic(tmp_path / "critic")
    assert (found.dtype, found.value_head.weight.dtype) == (torch.bfloat16, torch.float32)
    assert values(found).dtype == torch.float32
    wide = load_critic(tmp_path / "critic", "float32")
    assert (values(found) - values(wide)).abs().max() <= 0.1 * values(wide).abs().max()
    assert load_critic(tmp_path / "critic", "float64").value_head.weight.dtype == torch.float64


@EVERY
def test_a_new_head_on_the_trunk_of_a_directory(spec: DecoderSpec, tmp_path: Path) -> None:
    actor = build_decoder(spec, 4)
    save_pretrained(actor, tmp_path / "actor")
    critic = start_critic(tmp_path / "actor", bias=0.25)
    assert torch.equal(values(critic), torch.full((sum(LENGTHS),), 0.25))
    assert not any("lm_head" in name for name, _ in critic.named_parameters())
    mine = dict(actor.named_parameters())
    for name, parameter in critic.trunk.named_parameters():
        assert torch.equal(parameter, mine[name])
    drawn = start_critic(tmp_path / "actor", seed=3)
    assert torch.equal(values(drawn), values(critic_from(actor, seed=3)))


def test_others_do_not_take_a_variant_for_its_family(tmp_path: Path) -> None:
    save_critic(make(OURS["LlamaVariant"]), tmp_path / "critic")
    with pytest.raises(ValueError, match="limite-variant"):
        transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "critic")


def test_what_a_tied_head_is_tied_to_is_seen_to(tmp_path: Path) -> None:
    save_pretrained(build_decoder(FAMILIES["Qwen3"], 4), tmp_path / "actor")
    file = tmp_path / "actor" / "model.safetensors"
    tensors = load_file(file)
    save_file({**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"] + 1}, file)
    with pytest.raises(SettingsError, match=r"lm_head\.weight: differs from"):
        start_critic(tmp_path / "actor")


def _as_a_model(path: Path) -> Any:
    return at(path).filled()


def test_neither_is_taken_for_the_other(tmp_path: Path) -> None:
    actor = build_decoder(LLAMA, 4)
    save_pretrained(actor, tmp_path / "actor")
    save_critic(critic_from(actor), tmp_path / "critic")
    with pytest.raises(LimiteError, match=r"expected a critic.*LlamaForCausalLM.*start_critic"):
        load_critic(tmp_path / "actor")
    for opening in (ModelDirectory.open, start_critic, _as_a_model):
        with pytest.raises(LimiteError, match=r"TokenClassification, a critic.*load_critic"):
            opening(tmp_path / "critic")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_labels": 2}, r"config\.json: num_labels: a critic has 1 label, got 2"),
        ({"num_labels": True}, r"num_labels: a critic has 1 label, got True"),
        ({"id2label": {"0": "a", "1": "b"}}, r"id2label: a critic has 1 label"),
        ({"id2label": ["value"]}, r"id2label: a critic has 1 label"),
        ({"num_labels": None, "id2label": None}, r"num_labels: missing"),
        ({"classifier_dropout": 0.1}, r"classifier_dropout: only 0\.0 is implemented, got 0\.1"),
        ({"token_classification_bias": False}, r"token_classification_bias: only true"),
        ({"architectures": None}, r"expected a critic.*got None"),
        ({"architectures": ["A", "B"]}, r"expected a critic.*got \['A', 'B'\]"),
        ({"architectures": ["Bert"]}, r"expected a critic.*got 'Bert'"),
        (
            {"architectures": ["LlamasForTokenClassification"]},
            r"got 'LlamasForTokenClassification'; did you mean 'LlamaForTokenClassification'",
        ),
        ({"surprise": 1}, r"config\.json: surprise: unknown field"),
        ({"hidden_size": "48"}, r"hidden_size: expected a whole number"),
    ],
)
def test_what_is_no_critic_is_refused(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    save_critic(make(LLAMA), tmp_path / "critic")
    edit(tmp_path / "critic", **changes)
    with pytest.raises(LimiteError, match=said):
        CriticDirectory.open(tmp_path / "critic")


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    save_critic(make(LLAMA), tmp_path / "critic")
    edit(tmp_path / "critic", num_labels=3, classifier_dropout=0.5, surprise=1, hidden_act="gelu")
    with pytest.raises(SettingsError) as caught:
        load_critic(tmp_path / "critic")
    assert [each.path for each in caught.value.mistakes] == [
        "num_labels",
        "classifier_dropout",
        "surprise",
        "hidden_act",
    ]


def test_tensors_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    save_critic(make(LLAMA), tmp_path / "critic")
    file = tmp_path / "critic" / "model.safetensors"
    tensors = load_file(file)
    changed = tensors | {
        "score.weight": torch.zeros(2, 48),
        "lm_head.weight": torch.zeros(61, 48),
    }
    changed.pop("score.bias")
    save_file(changed, file)
    with pytest.raises(SettingsError) as caught:
        load_critic(tmp_path / "critic")
    said = str(caught.value)
    assert list(map(str, CriticDirectory.open(tmp_path / "critic").check())) == said.splitlines()
    assert "lm_head.weight: this model has no such tensor" in said
    assert "score.bias: missing" in said
    assert "score.weight: expected shape [1, 48], got [2, 48]" in said
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(LimiteError, match=r"model\.safetensors") as caught_again:
        load_critic(tmp_path / "critic")
    (only,) = CriticDirectory.open(tmp_path / "critic").check()
    assert str(only) == str(caught_again.value)
    file.unlink()
    torch.save(tensors, tmp_path / "critic" / "pytorch_model.bin")
    with pytest.raises(LimiteError, match="pickle"):
        load_critic(tmp_path / "critic")
    with pytest.raises(LimiteError, match="no such directory"):
        load_critic(tmp_path / "nowhere")


def test_what_a_sound_critic_is_checked_for(tmp_path: Path) -> None:
    save_critic(make(LLAMA), tmp_path / "critic")
    assert CriticDirectory.open(tmp_path / "critic").check() == []
    edit(tmp_path / "critic", torch_dtype="int8")
    (only,) = CriticDirectory.open(tmp_path / "critic").check()
    assert only.path == "torch_dtype"
    assert CriticDirectory.open(tmp_path / "critic").check("bfloat16") == []


def test_sizes_that_the_tensors_do_not_have_take_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_critic(make(LLAMA), tmp_path / "critic")
    edit(tmp_path / "critic", vocab_size=2**24)
    devices = []

    def noted(*given: Any, device: Any, **named: Any) -> Any:
        devices.append(str(device))
        return unset_decoder(*given, device=device, **named)

    monkeypatch.setattr("limite.core.pretrained.critic.unset_decoder", noted)
    with pytest.raises(LimiteError, match=r"expected shape \[16777216, 48\]"):
        load_critic(tmp_path / "critic")
    assert devices == ["meta"]


def test_the_tokenizer_comes_along(tmp_path: Path) -> None:
    words = write_words(tmp_path / "words", generation={"eos_token_id": 0})
    spec = attrs.evolve(LIMITE, vocabulary=370, padded_vocabulary=384)
    actor = build_decoder(spec.filled(), 5)
    save_pretrained(actor, tmp_path / "bare")
    (words / "config.json").write_bytes((tmp_path / "bare" / "config.json").read_bytes())
    edit(words, eos_token_id=0)
    save_critic(critic_from(actor), tmp_path / "one", source=ModelDirectory.open(words))
    first = CriticDirectory.open(tmp_path / "one")
    save_critic(first.load(), tmp_path / "two", source=first.model)
    for each in ("one", "two"):
        for name in ("tokenizer.json", "generation_config.json"):
            assert (tmp_path / each / name).read_bytes() == (words / name).read_bytes()
        assert json.loads((tmp_path / each / "config.json").read_text())["eos_token_id"] == 0


def test_the_page_of_models_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    section = page.split("\n## Critic\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    save_pretrained(build_decoder(LLAMA, 4), "models/actor")
    names: dict[str, Any] = {"tokens": torch.cat(rows()), "lengths": LENGTHS}
    exec(code, names)  # ours, from the page
    assert torch.equal(names["values"], torch.full((sum(LENGTHS),), 0.25))
    assert torch.equal(values(names["critic"]), names["values"])


def test_a_full_disk_leaves_nothing(tmp_path: Path, fail_at: FailAt) -> None:
    critic = make(LLAMA)
    with fail_at(10**6) as calls:
        save_critic(critic, tmp_path / "whole")
    assert {"write", "fsync", "replace", "mkdir"} == set(calls)
    for number, call in enumerate(calls):
        try:
            with fail_at(number):
                save_critic(critic, tmp_path / "critic")
        except LimiteError:
            assert sorted(os.listdir(tmp_path)) == ["whole"]
        else:
            assert call == "mkdir", "of a folder that is there"
            assert torch.equal(values(load_critic(tmp_path / "critic")), values(critic))
            shutil.rmtree(tmp_path / "critic")
    with pytest.raises(LimiteError, match="is not overwritten"):
        save_critic(critic, tmp_path / "whole")
