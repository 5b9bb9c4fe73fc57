"""A recipe that starts from a model's directory: checked, run, resumed, refused when it changed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import attrs
import pytest
import torch

from limite.core.checkpoint.read import newest_checkpoint
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError
from limite.core.model.init import build_decoder
from limite.core.model.presets import preset
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained
from limite.core.recipe.check import check_file
from limite.core.recipe.engine import go_on
from limite.core.recipe.engine import start as start_run
from limite.core.recipe.export import planned_source
from limite.core.recipe.load import load_recipe
from tests.core.pretrained.words import write_words

RECIPE = """
name = "own"
model = "start"

[stages.sft]
type = "sft"
problems.sources.gcd = 1
styles.direct = 1.0
documents = 12
steps = 2
batch = 4

[stages.rl]
type = "rl"
problems.sources.gcd = 1
steps = 1
groups = 2
rollouts = 2
max_tokens = 6

[stages.after]
type = "eval"
problems.sources.gcd = 1
count = 3
samples = 1
max_tokens = 6
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    words = write_words(tmp_path / "words", generation={"eos_token_id": 0})
    spec = attrs.evolve(preset("limite-tiny"), vocabulary=370, padded_vocabulary=384, layers=2)
    decoder = build_decoder(spec.filled(), 5)
    save_pretrained(decoder, tmp_path / "bare")
    shutil.copyfile(tmp_path / "bare" / "config.json", words / "config.json")
    save_pretrained(decoder, tmp_path / "start", source=ModelDirectory.open(words))
    (tmp_path / "own.toml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_is_read_with_its_own_tokenizer_and_written_with_its_place(folder: Path) -> None:
    loaded, plan = check_file(folder / "own.toml", (), load_registry())
    assert loaded.data["model"] == {
        "type": "pretrained", "path": str(folder / "start"), "dtype": "float32",
        "synthetic": False,
    }  # fmt: skip
    assert loaded.data["tokenizer"]["type"] == "pretrained"
    assert loaded.recipe.tokenizer.eos_ids == (0,)
    assert plan.parameters == sum(
        value.numel() for value in ModelDirectory.open(folder / "start").load().parameters()
    )


def test_weights_that_were_made_for_tests_are_no_beginning_unless_that_is_wanted(
    folder: Path,
) -> None:
    """The mark stays with what grew from such weights, whatever is done to them."""
    registry, place = load_registry(), folder / "own.toml"
    directory = ModelDirectory.open(folder / "start")
    save_pretrained(directory.load(), folder / "made", source=directory, synthetic=True)
    save_pretrained(directory.load(), folder / "again", source=ModelDirectory.open(folder / "made"))
    for name in ("made", "again"):
        with pytest.raises(SettingsError) as caught:
            check_file(place, (f'model="./{name}"', "stages.rl.rollouts=0"), registry)
        told = str(caught.value)
        assert f"model: {folder / name} says that its weights were made at random" in told
        assert "rollouts: must be >= 1" in told
    sets = (f'model={{ type = "pretrained", path = "{folder / "made"}", synthetic = true }}',)
    loaded, _ = check_file(place, sets, registry)
    planned = planned_source(loaded.recipe)
    assert planned.config["limite_synthetic"] is True
    config = folder / "made" / "config.json"
    config.write_text(config.read_text().replace('"limite_synthetic":true', '"limite_synthetic":1'))
    with pytest.raises(SettingsError, match="limite_synthetic: expected true or false, got 1"):
        check_file(place, sets, registry)


def test_a_run_starts_from_its_weights_and_is_bound_to_its_files(folder: Path) -> None:
    result = start_run(folder / "own.toml", out=folder / "runs", echo=lambda _line: None)
    run = result.path
    receipt = json.loads((run / "receipt.json").read_text())
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(receipt["files"])
    saved = newest_checkpoint(run / "stages" / "01-sft" / "checkpoints", echo=print)
    assert saved is not None
    start = dict(ModelDirectory.open(folder / "start").load("float32").named_parameters())
    moved = {name: (saved.payloads["model"][name] - start[name]).norm() for name in start}
    assert 0 < moved["embed_tokens.weight"] < 0.2 * start["embed_tokens.weight"].norm()
    same = go_on(run, echo=lambda _line: None)
    assert same.path == run
    generation = folder / "start" / "generation_config.json"
    before = generation.read_bytes()
    generation.write_text('{"eos_token_id": 1}')
    with pytest.raises(LimiteError, match=r"files\.generation_config\.json"):
        go_on(run, echo=lambda _line: None)
    generation.write_bytes(before)
    weights = folder / "start" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + os.urandom(4))
    with pytest.raises(LimiteError, match=r"files\.model\.safetensors"):
        go_on(run, echo=lambda _line: None)


def test_what_is_wrong_with_the_directory_is_told_by_check(folder: Path) -> None:
    registry = load_registry()
    config = folder / "start" / "config.json"
    good = config.read_text()
    config.write_text(json.dumps(json.loads(good) | {"surprise": 1, "xsa": None}))
    with pytest.raises(SettingsError) as caught:
        check_file(folder / "own.toml", (), registry)
    assert "config.json: surprise: unknown field" in str(caught.value)
    config.write_text(good)
    (folder / "start" / "tokenizer.json").write_text("{")
    with pytest.raises(SettingsError, match=r"tokenizer\.json"):
        check_file(folder / "own.toml", (), registry)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("limite-tinny", "did you mean 'limite-tiny'"),
        ("./nowhere", "there is no directory './nowhere'"),
        ("own.toml", "neither a preset nor a directory"),
    ],
)
def test_a_model_that_is_not_there_is_told(folder: Path, name: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_recipe(folder / "own.toml", (f"model={name}",), load_registry())


def test_its_dtype_can_be_set(folder: Path) -> None:
    loaded = load_recipe(folder / "own.toml", ("model.dtype=float64",), load_registry())
    assert loaded.recipe.model.dtype == "float64"
    assert loaded.recipe.model.directory.load("float64").dtype == torch.float64
