"""What is wrong with a model's files is told by a check of the recipe, beside all else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import torch
from click.testing import CliRunner
from torch import Tensor

from limite.core.cli.check import check
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.model.init import build_decoder
from limite.core.model.presets import preset
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.tensor_directory import TensorDirectory
from limite.core.pretrained.tensor_file import TensorFile, write_tensor_file
from limite.core.recipe.check import check_file
from tests.core.pretrained.words import CHATML, write_words

RECIPE = """
name = "own"
model = "start"

[stages.rl]
type = "rl"
problems.sources.gcd = 1
steps = 1
groups = 2
rollouts = 1
max_tokens = 6
"""
ROLLOUTS = "cannot use groups of 1"
"""What is wrong with the recipe itself: no group of one can teach anything."""

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
TABLE = "model.embed_tokens.weight"
NORM = "model.layers.1.resid_lambda_mlp"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's directory, in one file and in shards, with a tokenizer and its template."""
    folder = tmp_path_factory.mktemp("sound")
    words = write_words(folder / "words", generation={"eos_token_id": 0}, template=CHATML)
    spec = attrs.evolve(preset("limite-tiny"), vocabulary=370, padded_vocabulary=384, layers=2)
    decoder = build_decoder(spec.filled(), 5)
    save_pretrained(decoder, folder / "bare")
    shutil.copyfile(folder / "bare" / "config.json", words / "config.json")
    source = ModelDirectory.open(words)
    save_pretrained(decoder, folder / "one", source=source)
    save_pretrained(decoder, folder / "shards", source=source, shard_bytes=200_000)
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe with a mistake of its own, beside a sound model called ``start``."""
    shutil.copytree(sound / "one", tmp_path / "start")
    (tmp_path / "own.toml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(folder: Path) -> list[Mistake]:
    with pytest.raises(SettingsError) as caught:
        check_file(folder / "own.toml", (), load_registry())
    return list(caught.value.mistakes)


def rewritten(model: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    tensors = TensorDirectory.open(model)
    values = {name: tensors.read(name) for name in tensors.names}
    change(values)
    (model / SINGLE).unlink()
    write_tensor_file(model / SINGLE, values)


def header(model: Path, change: Callable[[dict[str, dict[str, list[int]]]], object]) -> None:
    content = (model / SINGLE).read_bytes()
    size = int.from_bytes(content[:8], "little")
    said = json.loads(content[8 : 8 + size])
    change(said)
    text = json.dumps(said).encode()
    (model / SINGLE).write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])


def shards(model: Path, change: Callable[[dict[str, str], list[Path]], object]) -> None:
    (model / SINGLE).unlink()
    for file in sorted((model.parent / "sharded").glob("model*")):
        shutil.copy(file, model)
    index = json.loads((model / INDEX).read_text())
    change(index["weight_map"], sorted(model.glob("*.safetensors")))
    (model / INDEX).write_text(json.dumps(index))


def pickled(model: Path) -> None:
    (model / SINGLE).unlink()
    (model / "pytorch_model.bin").write_bytes(b"\x80\x04.")


def lost(weight_map: dict[str, str], files: list[Path]) -> None:
    files[1].unlink()


def outside(weight_map: dict[str, str], files: list[Path]) -> None:
    weight_map[NORM] = "../other.safetensors"


def unlisted(weight_map: dict[str, str], files: list[Path]) -> None:
    del weight_map[NORM]


def overlap(said: dict[str, dict[str, list[int]]]) -> None:
    names = sorted(
        (name for name in said if name != "__metadata__"),
        key=lambda name: said[name]["data_offsets"],
    )
    first, second = (said[name]["data_offsets"] for name in names[:2])
    size = second[1] - second[0]
    second[:] = [first[1] - 4, first[1] - 4 + size]


def cut(model: Path) -> None:
    os.truncate(model / SINGLE, (model / SINGLE).stat().st_size - 3)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda d: rewritten(d, lambda v: v.pop(NORM)), f"start: {NORM}: missing"),
    "spare": (
        lambda d: rewritten(d, lambda v: v.update(extra=torch.ones(2))),
        f"{SINGLE}: extra: this model has no such tensor",
    ),
    "frequencies of another family": (
        lambda d: rewritten(d, lambda v: v.update({"model.rotary_emb.inv_freq": torch.ones(2)})),
        f"{SINGLE}: model.rotary_emb.inv_freq: this model has no such tensor",
    ),
    "shape": (
        lambda d: rewritten(d, lambda v: v.update({TABLE: v[TABLE][1:].clone()})),
        f"{SINGLE}: {TABLE}: expected shape [384, 64], got [383, 64]",
    ),
    "dtype": (
        lambda d: rewritten(d, lambda v: v.update({NORM: v[NORM].int()})),
        f"{SINGLE}: {NORM}: expected torch.float32, got torch.int32",
    ),
    "untied": (
        lambda d: rewritten(d, lambda v: v.update({"lm_head.weight": v[TABLE] + 1})),
        f"lm_head.weight: differs from {TABLE}, which it is tied to",
    ),
    "cut short": (cut, f"{SINGLE}: "),
    "overlapping": (lambda d: header(d, overlap), "overlap those of"),
    "no weights": (lambda d: (d / SINGLE).unlink(), f"no {SINGLE} and no {INDEX}"),
    "pickle": (pickled, "pytorch_model.bin, a pickle: loading one can run code, so limite never"),
    "shard missing": (lambda d: shards(d, lost), "model-00002-of-00003.safetensors: no such file"),
    "outside": (lambda d: shards(d, outside), "in this directory, got '../other.safetensors'"),
    "unlisted": (lambda d: shards(d, unlisted), f"{NORM}: this tensor is not in the index"),
}


@pytest.mark.parametrize("bad", BAD)
def test_weights_that_cannot_be_loaded_are_told_beside_the_recipes_own_mistakes(
    sound: Path, folder: Path, bad: str
) -> None:
    (folder / "sharded").symlink_to(sound / "shards")
    spoil, said = BAD[bad]
    spoil(folder / "start")
    before = {file.name: file.read_bytes() for file in (folder / "start").iterdir()}
    mistakes = told(folder)
    assert any(ROLLOUTS in mistake.message for mistake in mistakes)
    files = [mistake for mistake in mistakes if ROLLOUTS not in mistake.message]
    assert any(said in str(mistake) for mistake in files), "\n".join(map(str, files))
    directory = ModelDirectory.open(folder / "start")
    with pytest.raises(LimiteError) as caught:
        directory.load("float32")
    assert list(map(str, directory.check("float32"))) == str(caught.value).splitlines()
    # What is said of no file in it is told at the setting.
    in_files = [each.message if each.path == "model" else str(each) for each in files]
    assert in_files == str(caught.value).splitlines()
    assert all(each.file is not None for each in files)
    assert before == {file.name: file.read_bytes() for file in (folder / "start").iterdir()}


def test_a_sound_model_is_told_nothing_of(folder: Path) -> None:
    (only,) = told(folder)
    assert ROLLOUTS in only.message
    assert ModelDirectory.open("start").check() == []


def test_no_weight_is_read_but_for_a_copy_of_the_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def note(self: TensorFile, name: str, *_: object, **__: object) -> list[Tensor]:
        read.append(name)
        return []

    for name in ("read", "read_into", "pieces"):
        monkeypatch.setattr(TensorFile, name, note)
    assert ModelDirectory.open("start").check() == []
    assert read == []
    monkeypatch.undo()
    rewritten(folder / "start", lambda v: v.update({"lm_head.weight": v[TABLE].clone()}))
    assert ModelDirectory.open(folder / "start").check() == []
    monkeypatch.setattr(TensorFile, "pieces", note)
    assert ModelDirectory.open(folder / "start").check() == []
    assert read == ["lm_head.weight", TABLE]


def test_everything_is_told_at_once(folder: Path) -> None:
    def change(values: dict[str, Tensor]) -> None:
        values["model.layers.1.resid_lambda_mlq"] = values.pop(NORM)
        values["lm_head.weight"] = values[TABLE] + 1
        values["model.layers.0.o_scale"] = torch.tensor(1)

    start = folder / "start"
    rewritten(start, change)
    (start / "tokenizer.json").write_bytes((start / "tokenizer.json").read_bytes()[:-9])
    (start / "generation_config.json").write_text('{"eos_token_id": "0", "top_p": 3}')
    (folder / "own.toml").write_text(RECIPE.replace("gcd", "gdc") + "[surprise]\n")
    said = "\n".join(map(str, told(folder)))
    for expected in (
        "surprise: unknown key",
        "own.toml:7: stages.rl.problems.sources.gdc: unknown generator 'gdc'; did you mean 'gcd'?",
        f"start: {NORM}: missing; did you mean 'model.layers.1.resid_lambda_mlq'?",
        "resid_lambda_mlq: this model has no such tensor",
        "o_scale: this model has no such tensor",
        "lm_head.weight: differs from",
        "tokenizer.json: not JSON",
        "generation_config.json: eos_token_id: expected a token id",
        "generation_config.json: top_p: expected a number from 0 to 1",
    ):
        assert expected in said
    (start / "config.json").write_text("{}")
    said = "\n".join(map(str, told(folder)))
    assert said.count("config.json: model_type: expected one of") == 1
    assert "tokenizer.json: not JSON" in said
    assert "did you mean 'gcd'" in said


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("tokenizer.json", "{", "tokenizer.json: not JSON"),
        ("tokenizer.json", None, "holds no tokenizer.json"),
        ("tokenizer_config.json", "[]", "tokenizer_config.json: expected a JSON object"),
        (
            "chat_template.jinja",
            "{% if %}",
            "chat_template.jinja: the chat template cannot be read: line 1",
        ),
        (
            "chat_template.jinja",
            "{{ raise_exception('no') }}",
            "chat_template.jinja: the chat template refuses these messages: no",
        ),
        ("generation_config.json", "{", "generation_config.json: not JSON"),
        ("generation_config.json", '{"eos_token_id": 380}', "no token has the id that ends a re"),
    ],
)
def test_what_is_wrong_with_the_words_is_told_beside_the_rest(
    folder: Path, name: str, content: str | None, said: str
) -> None:
    (folder / "start" / name).unlink()
    if content is not None:
        (folder / "start" / name).write_text(content)
    words, recipe = sorted(told(folder), key=lambda mistake: ROLLOUTS in mistake.message)
    assert ROLLOUTS in recipe.message
    assert said in str(words)
    assert f"{folder}/start" in str(words)


def test_a_template_that_refuses_one_of_the_problems_is_told_beside_the_rest(folder: Path) -> None:
    refusing = "{% if messages[0]['content']|length > 6 %}{{ raise_exception('long') }}{% endif %}"
    (folder / "start/chat_template.jinja").write_text(refusing)
    words, recipe = sorted(told(folder), key=lambda mistake: ROLLOUTS in mistake.message)
    assert ROLLOUTS in recipe.message
    assert words.path == "tokenizer"
    assert "refuses these messages: long" in words.message


def test_the_command_tells_them_all_and_ends_with_two(folder: Path) -> None:
    cut(folder / "start")
    result = CliRunner().invoke(check, ["own.toml", "--json"], catch_exceptions=False)
    (page,) = json.loads(result.output)
    assert result.exit_code == 2
    assert page["plan"] is None
    files = [mistake["file"] for mistake in page["mistakes"]]
    assert files == ["own.toml", str(folder / "start" / SINGLE)]
