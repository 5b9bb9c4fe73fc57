"""A directory as a recipe's model: which ids mean something, what may lie beside its tensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
from torch import Tensor

from limite.core.errors import LimiteError, SettingsError
from limite.core.kernels.layout import Layout
from limite.core.model.init import build_decoder
from limite.core.model.llama.decoder import LlamaDecoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.presets import preset
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.settings import at
from limite.core.pretrained.tensor_directory import TensorDirectory
from limite.core.pretrained.tensor_file import write_tensor_file
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Request
from limite.core.seeds import Seeds
from limite.core.types import Answer, Problem
from tests.core.pretrained.words import CHATML, byte_level, write_words

ROWS = 512
QWEN2 = LlamaSpec(vocabulary=ROWS, layers=2, query_key_value_bias=True, context=96)


def saved(folder: Path, spec: Any = QWEN2, *, gap: int = 0) -> Path:
    """A model with rows, all about as likely, that no id of the tokenizer reaches."""
    words = write_words(folder / "words", generation={"eos_token_id": 0}, template=CHATML)
    if gap:
        data = json.loads(byte_level(specials=(), others=()).to_str())
        vocabulary = data["model"]["vocab"]
        vocabulary[max(vocabulary, key=vocabulary.__getitem__)] += gap
        (words / "tokenizer.json").write_text(json.dumps(data))
        (words / "tokenizer_config.json").write_text("{}")
        (words / "chat_template.jinja").unlink()
    decoder = build_decoder(spec.filled(), 3)
    stream = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=stream) * 0.05)
    save_pretrained(decoder, folder / "bare")
    (words / "config.json").write_bytes((folder / "bare" / "config.json").read_bytes())
    save_pretrained(decoder, folder / "model", source=ModelDirectory.open(words))
    return folder / "model"


@pytest.mark.parametrize("gap", [0, 40])
def test_only_ids_of_the_tokenizer_are_sampled_whatever_the_table_holds(
    tmp_path: Path, gap: int
) -> None:
    model = at(saved(tmp_path, gap=gap))
    tokenizer = model.default_tokenizer()
    assert isinstance(tokenizer, PretrainedTokenizer)
    ids = tokenizer.vocabulary
    assert ids < ROWS
    assert len(tokenizer.unused_ids) == gap
    decoder = model.decoder(ids, Seeds(0))
    assert (decoder.vocabulary, decoder.spec.padded_vocabulary) == (ids, ROWS)
    problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))
    prompt = tokenizer.render_prompt(problem)
    requests = [
        Request(problem=problem, sample_index=i, prompt_ids=prompt, budget_tokens=8)
        for i in range(40)
    ]
    named = {*tokenizer.inner.get_vocab(with_added_tokens=True).values()}
    seen: set[int] = set()
    for _, response in Sampler(decoder, tokenizer, seed=1).generate(requests, 0):
        seen |= set(response.completion_ids)
        whole = torch.tensor([*prompt, *response.completion_ids])
        with torch.no_grad():
            hidden = decoder(whole, Layout.from_lengths([len(whole)]))
            logits = decoder.logits(hidden)[len(prompt) - 1 : -1]
            logp, _ = decoder.log_probabilities(hidden[len(prompt) - 1 : -1], whole[len(prompt) :])
        assert logits.shape[-1] == ROWS
        # All rows keep their mass, in what the sampler records as in what is trained.
        shares = logits.double().softmax(-1)
        assert shares[:, sorted(named)].sum(-1).max() < 0.9
        recorded = torch.tensor(response.logprobs)
        assert torch.allclose(recorded, logp, atol=1e-5)
        whole_head = shares.log().gather(1, whole[len(prompt) :, None]).squeeze(1)
        assert torch.allclose(recorded.double(), whole_head, atol=1e-5)
    assert len(seen) > 20
    assert seen <= named


def test_a_tokenizer_may_have_fewer_ids_and_never_more(tmp_path: Path) -> None:
    model = at(saved(tmp_path))
    assert model.filled().vocabulary == ROWS
    assert model.filled(ROWS).vocabulary == ROWS
    spec: Any = model.filled(200)
    assert attrs.evolve(spec, vocabulary=ROWS) == model.filled()
    with pytest.raises(LimiteError, match="513 ids, more than the 512 rows of the token table"):
        model.filled(ROWS + 1)


def test_rows_that_a_configuration_calls_padding_are_no_ids(tmp_path: Path) -> None:
    spec = attrs.evolve(preset("limite-tiny"), vocabulary=370, padded_vocabulary=384, layers=2)
    model = at(saved(tmp_path, spec))
    assert model.filled(365).vocabulary == 365
    with pytest.raises(LimiteError, match=r"371 ids, more than the 370 ids that config\.json"):
        model.filled(371)


def with_tensors(model: Path, **more: Tensor) -> Path:
    tensors = TensorDirectory.open(model)
    values = {name: tensors.read(name) for name in tensors.names}
    (model / "model.safetensors").unlink()
    write_tensor_file(model / "model.safetensors", values | more)
    return model


def test_frequencies_of_older_files_are_not_read(tmp_path: Path) -> None:
    model = saved(tmp_path)
    before = ModelDirectory.open(model).load()
    assert isinstance(before, LlamaDecoder)
    places = ("", "layers.0.self_attn.", "layers.1.self_attn.")
    more = {f"model.{place}rotary_emb.inv_freq": torch.full((16,), 7.0) for place in places}
    found = ModelDirectory.open(with_tensors(model, **more))
    assert found.check() == []
    after = dict(found.load().named_parameters())
    assert after.keys() == dict(before.named_parameters()).keys()
    assert all(torch.equal(value, after[name]) for name, value in before.named_parameters())


@pytest.mark.parametrize(
    "name",
    [
        "rotary_emb.inv_freq",
        "model.layers.2.self_attn.rotary_emb.inv_freq",  # there are two layers
        "model.layers.00.self_attn.rotary_emb.inv_freq",
        "model.layers.0.rotary_emb.inv_freq",
        "model.layers.0.self_attn.rotary_emb.inv_freqs",
        "model.layers.0.self_attn.rotary_emb.cos_cached",
    ],
)
def test_what_is_only_called_alike_is_refused(tmp_path: Path, name: str) -> None:
    model = with_tensors(saved(tmp_path), **{name: torch.ones(16)})
    with pytest.raises(SettingsError, match="this model has no such tensor") as caught:
        ModelDirectory.open(model).load()
    assert [mistake.path for mistake in caught.value.mistakes] == [name]


def test_other_families_have_no_frequencies(tmp_path: Path) -> None:
    spec = attrs.evolve(preset("limite-tiny"), vocabulary=370, padded_vocabulary=384, layers=2)
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    model = with_tensors(saved(tmp_path, spec), **{name: torch.ones(16)})
    with pytest.raises(SettingsError, match=rf"{name}: this model has no such tensor"):
        ModelDirectory.open(model).load()
