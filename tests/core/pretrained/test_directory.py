"""A model's directory: written, opened, loaded, and refused where something is wrong with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import attrs
import pytest
import torch
from safetensors.torch import load_file

from limite.core.errors import LimiteError, SettingsError
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.presets import preset
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.families.limite import spec_from_config
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.settings import Pretrained, at
from limite.core.seeds import Seeds
from tests.core.pretrained.words import write_words

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def decoder() -> Decoder:
    spec = attrs.evolve(preset("limite-tiny"), vocabulary=370, padded_vocabulary=384)
    return build_decoder(spec.filled(), 5)


@pytest.fixture
def saved(decoder: Decoder, tmp_path: Path) -> Path:
    words = write_words(tmp_path / "words", generation={"eos_token_id": 0})
    (words / "config.json").write_text(json.dumps({**CONFIG, "eos_token_id": 0}))
    save_pretrained(decoder, tmp_path / "model", source=ModelDirectory.open(words))
    return tmp_path / "model"


CONFIG = json.loads((GOLDEN / "limite_tiny.json").read_text())["config"]


def logits(decoder: Decoder) -> torch.Tensor:
    ids = torch.arange(40) * 9 % 370
    with torch.no_grad():
        return decoder.logits(decoder(ids, Layout.from_lengths([25, 15])))


def test_what_is_saved_loads_to_the_same_logits(decoder: Decoder, saved: Path) -> None:
    found = ModelDirectory.open(saved)
    assert found.spec == attrs.evolve(decoder.spec, attention=found.spec.attention)
    assert found.dtype == "float32"
    assert torch.equal(logits(found.load()), logits(decoder))
    assert json.loads((saved / "config.json").read_text())["eos_token_id"] == 0
    assert (saved / "tokenizer.json").read_bytes() == (
        saved.parent / "words" / "tokenizer.json"
    ).read_bytes()


def test_shards_and_halves_load_as_well(decoder: Decoder, tmp_path: Path) -> None:
    save_pretrained(decoder, tmp_path / "half", dtype="bfloat16", shard_bytes=100_000)
    assert len(list((tmp_path / "half").glob("*.safetensors"))) > 3
    stored = {}
    for file in (tmp_path / "half").glob("*.safetensors"):
        stored |= load_file(file)
    shapes = build_decoder(decoder.spec, dtype=torch.bfloat16, device="meta")
    assert {name: value.dtype for name, value in stored.items()} == {
        f"model.{name}": value.dtype for name, value in shapes.named_parameters()
    }
    found = ModelDirectory.open(tmp_path / "half")
    assert found.dtype == "bfloat16"
    assert found.load().dtype == torch.bfloat16
    wide = found.load("float32")
    for name, value in decoder.named_parameters():
        kept = value if stored[f"model.{name}"].dtype == torch.float32 else value.bfloat16()
        assert torch.equal(dict(wide.named_parameters())[name], kept.float()), name


def test_published_files_are_read_as_they_are(tmp_path: Path) -> None:
    tensors = load_file(GOLDEN / "limite_tiny.safetensors")
    shutil.copyfile(GOLDEN / "limite_tiny.safetensors", tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    with pytest.raises(SettingsError, match=r"golden\.logits"):  # no tensor of this model
        ModelDirectory.open(tmp_path).load()
    (tmp_path / "model.safetensors").unlink()
    from limite.core.pretrained.tensor_file import write_tensor_file

    weights = {name: value for name, value in tensors.items() if name.startswith("model.")}
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone()
    write_tensor_file(tmp_path / "model.safetensors", weights)
    found = ModelDirectory.open(tmp_path)
    assert found.spec == spec_from_config(CONFIG)
    decoder = found.load("float32")
    ids = tensors["golden.input_ids"]
    hidden = decoder(ids.flatten(), Layout.from_lengths([24, 24]))
    far = (decoder.logits(hidden).view(2, 24, -1) - tensors["golden.logits"]).abs()
    assert far.max() <= 5e-5


def test_nothing_is_overwritten_and_nothing_half_written(decoder: Decoder, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(LimiteError, match="is not overwritten"):
        save_pretrained(decoder, tmp_path / "there")
    with pytest.raises(LimiteError, match="there is no folder"):
        save_pretrained(decoder, tmp_path / "no" / "where")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "llamma"}, r"config\.json: model_type: expected one of .*, got 'llamma'"),
        ({"model_type": None}, "got None"),
        ({"num_hidden_layers": "4"}, r"num_hidden_layers: expected a whole number"),
        ({"surprise": 1}, "surprise: unknown field"),
    ],
)
def test_a_configuration_that_is_wrong_is_refused(
    saved: Path, change: dict[str, object], said: str
) -> None:
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(SettingsError, match=said):
        ModelDirectory.open(saved)


def test_an_unknown_dtype_is_refused_when_it_is_needed(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | {"torch_dtype": "float7"}))
    found = ModelDirectory.open(saved)
    assert found.load("float32").dtype == torch.float32
    with pytest.raises(SettingsError, match="torch_dtype: expected one of"):
        found.load()


def test_other_places_are_no_models(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(LimiteError, match="there is no such directory"):
        ModelDirectory.open(tmp_path / "nowhere")
    with pytest.raises(LimiteError, match="is a file"):
        ModelDirectory.open(saved / "config.json")
    (saved / "config.json").unlink()
    with pytest.raises(LimiteError, match=r"there is no config\.json"):
        ModelDirectory.open(saved)


def test_settings_stand_for_the_directory(decoder: Decoder, saved: Path) -> None:
    model = at(saved)
    assert model == Pretrained(path=str(saved.absolute()))
    assert model.context == 128
    assert model.filled(370).padded_vocabulary == 384
    with pytest.raises(LimiteError, match="385 ids, more than the 384 rows"):
        model.filled(385)
    assert torch.equal(logits(model.decoder(370, Seeds(0))), logits(decoder))
    assert model.default_tokenizer().eos_ids == (0,)
    before = model.hashes()
    assert set(before) == {"config.json", "model.safetensors"}
    weights = saved / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    assert model.hashes() != before


def test_what_a_narrower_dtype_cannot_hold_is_refused_by_name(
    decoder: Decoder, tmp_path: Path
) -> None:
    with torch.no_grad():
        decoder.get_parameter("layers.2.mlp.down_proj.weight")[3, 5] = -7e4
        decoder.get_parameter("embed_tokens.weight")[0, 0] = torch.inf  # it is what it is
    said = r"model\.layers\.2\.mlp\.down_proj\.weight: .* torch\.float16 can hold .* got 70000"
    with pytest.raises(LimiteError, match=said):
        save_pretrained(decoder, tmp_path / "out", dtype="float16")
    assert list(tmp_path.iterdir()) == []
    save_pretrained(decoder, tmp_path / "out", dtype="bfloat16")
