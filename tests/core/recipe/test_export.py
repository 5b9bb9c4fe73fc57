"""What a run has trained, written as a directory: the same model there, and nothing damaged."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch
import transformers

from limite.core.checkpoint.manifest import MANIFEST
from limite.core.checkpoint.read import read_checkpoint
from limite.core.checkpoint.state import restore_module
from limite.core.checkpoint.write import write_checkpoint
from limite.core.errors import LimiteError, SettingsError
from limite.core.jsonl import read_json
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.presets import preset
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.export import Exported, directory_source, export_model
from limite.core.pretrained.inspect import Look, look_at
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.context import model_of
from limite.core.recipe.engine import start
from limite.core.recipe.export import run_source
from limite.core.recipe.inspect import look_at_run
from limite.core.recipe.load import load_recipe
from limite.core.recipe.trained import Trained, trained
from limite.core.types import Answer, Problem
from tests.core.pretrained.words import CHATML, write_words
from tests.tiny_recipe import sizes

STAGES = """
name = "toy"
seed = 5
loggers = ["jsonl"]
{model}
[stages.first]
type = "sft"
problems = {{ sources = {{ linear-equation = 1 }}, difficulty = [0.0, 0.0] }}
styles.direct = 1.0
documents = 12
steps = 2
batch = 4
checkpoint_every = 1
keep = 2
[stages.after]
type = "eval"
problems = {{ sources = {{ linear-equation = 1 }}, difficulty = [0.0, 0.0] }}
count = 2
samples = 1
max_tokens = 4
[stages.second]
type = "sft"
problems = {{ sources = {{ linear-equation = 1 }}, difficulty = [0.0, 0.0] }}
styles.direct = 1.0
documents = 12
steps = 1
batch = 4
"""
SIZES = sizes(2)
MODELS = {
    "limite": f"[model]\n{SIZES}attention = {{ type = 'local-global', window = 5 }}",
    "llama": f"[model]\ntype = 'llama'\n{SIZES}tied_head = false",
    "limite-variant": f"[model]\n{SIZES}attention = {{ type = 'simplicial', every = 2 }}",
}
PROBLEM = Problem(problem="3x+4=19, x=?", answer=Answer(type="integer", value="5"))


def quiet(_line: str) -> None:
    """An echo that says nothing."""


@pytest.fixture(scope="module", params=MODELS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "toy.toml").write_text(STAGES.format(model=MODELS[request.param]))
    return start(folder / "toy.toml", out=folder, name=request.param, echo=quiet).path


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that only tests of this file's mistakes copy."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "toy.toml").write_text(STAGES.format(model=MODELS["llama"]))
    return start(folder / "toy.toml", out=folder, name="llama", echo=quiet).path


@pytest.fixture
def copy(llama: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(llama, tmp_path / "run"))


def digest(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def exported(run: Path, target: Path, stage: str | None = None, **options: Any) -> Exported:
    return export_model(run_source(trained(run, stage)), target, **options)


def weights_of(run: Path, checkpoint: str) -> dict[str, torch.Tensor]:
    return dict(read_checkpoint(run / "stages" / checkpoint).payloads["model"])


def decoder_of(run: Path, checkpoint: str) -> Decoder:
    recipe = load_recipe(run / "recipe.toml").recipe
    decoder = build_decoder(model_of(recipe))
    restore_module(decoder, weights_of(run, checkpoint))
    return decoder.eval()


@torch.no_grad()
def logits(decoder: Decoder, ids: tuple[int, ...]) -> torch.Tensor:
    return decoder.logits(decoder(torch.tensor(ids), Layout.from_lengths([len(ids)])))


def greedy(decoder: Decoder, ids: tuple[int, ...], count: int) -> list[int]:
    made: list[int] = []
    for _ in range(count):
        made.append(int(logits(decoder, (*ids, *made))[-1].argmax()))
    return made


def test_limite_loads_the_very_same_model(run: Path, tmp_path: Path) -> None:
    before = digest(run)
    done = exported(run, tmp_path / "out", shard_bytes=4000)
    assert digest(run) == before
    assert len([name for name in done.files if name.endswith(".safetensors")]) > 2
    assert done.files == {name: (tmp_path / "out" / name).stat().st_size for name in done.files}
    assert set(digest(tmp_path / "out")) == set(done.files)
    assert (done.dtype, done.family) == ("float32", run.name)
    assert [note.split(",")[0] for note in done.notes] == {
        "llama": [],
        "limite": [
            "transformers reads this family only with its publisher's code; limite needs none"
        ],
        "limite-variant": ["only limite knows this attention"],
    }[run.name]
    recipe = load_recipe(run / "recipe.toml").recipe
    theirs, tokenizer = decoder_of(run, "03-second/checkpoints/step-000001"), recipe.tokenizer
    directory = ModelDirectory.open(tmp_path / "out")
    ours = directory.load()
    assert done.parameters == sum(value.numel() for value in ours.parameters())
    assert ours.spec == theirs.spec
    read = PretrainedTokenizer(path=str(tmp_path / "out"))
    prompt = tokenizer.render_prompt(PROBLEM)
    assert read.render_prompt(PROBLEM) == prompt
    assert (read.eos_ids, read.bos_id, read.pad_id) == (tokenizer.eos_ids, 1, 0)
    assert torch.equal(logits(ours, prompt), logits(theirs, prompt))
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    assert directory.config.items() >= ids.items()


def test_a_stage_can_be_chosen(run: Path, tmp_path: Path) -> None:
    exported(run, tmp_path / "out", "first")
    ours = ModelDirectory.open(tmp_path / "out").load()
    kept = weights_of(run, "01-first/checkpoints/step-000002")
    assert all(torch.equal(value, kept[name]) for name, value in ours.named_parameters())


@pytest.mark.parametrize("dtype", ["bf16", "float16"])
def test_matrices_are_rounded_once_and_what_is_kept_exact_is(
    run: Path, tmp_path: Path, dtype: str
) -> None:
    done = exported(run, tmp_path / "out", dtype=dtype)
    kept = weights_of(run, "03-second/checkpoints/step-000001")
    ours = dict(ModelDirectory.open(tmp_path / "out").load().named_parameters())
    half = {"bf16": torch.bfloat16, "float16": torch.float16}[dtype]
    assert str(half) == f"torch.{done.dtype}"
    for name, value in ours.items():
        assert torch.equal(value, kept[name].to(value.dtype)), name
    dtypes = {name: value.dtype for name, value in ours.items()}
    assert dtypes["embed_tokens.weight"] == dtypes["layers.1.mlp.up_proj.weight"] == half
    # What a family keeps beside its matrices: Limite's scalars and gates are few and exact.
    assert (torch.float32 in dtypes.values()) == (run.name != "llama")
    counted = {
        kind: sum(value.numel() for value in ours.values() if str(value.dtype) == f"torch.{kind}")
        for kind in done.dtypes
    }
    assert counted == done.dtypes


def test_transformers_loads_the_same_model(llama: Path, tmp_path: Path) -> None:
    exported(llama, tmp_path / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    words = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    ours = decoder_of(llama, "03-second/checkpoints/step-000001")
    tokenizer = load_recipe(llama / "recipe.toml").recipe.tokenizer
    prompt = tokenizer.render_prompt(PROBLEM)
    asked = words(PROBLEM.problem + "\n", return_tensors="pt")
    assert asked.input_ids[0].tolist() == list(prompt)
    with torch.no_grad():
        expected = theirs(**asked).logits[0]
    torch.testing.assert_close(logits(ours, prompt), expected, rtol=1e-4, atol=1e-5)
    made = theirs.generate(**asked, max_new_tokens=12, do_sample=False, eos_token_id=-1)
    continued = greedy(ours, prompt, 12)
    assert made[0, len(prompt) :].tolist() == continued
    assert words.decode(made[0], skip_special_tokens=True) == tokenizer.decode(made[0].tolist())
    settings = theirs.generation_config
    assert (settings.eos_token_id, settings.bos_token_id, settings.pad_token_id) == (2, 1, 0)


# Runs that have not finished


def notes(run: Path, stage: str | None = None) -> list[str]:
    return list(trained(run, stage).notes())


def test_a_stage_that_has_not_finished_is_told(copy: Path, tmp_path: Path) -> None:
    shutil.rmtree(copy / "stages" / "03-second")
    (copy / "stages" / "01-first" / "receipt.json").unlink()
    shutil.rmtree(copy / "stages" / "01-first" / "checkpoints" / "step-000002")
    found = trained(copy)
    assert (found.stage, found.step, found.steps, found.finished) == ("first", 1, 2, False)
    done = exported(copy, tmp_path / "out")
    assert done.notes == (
        "stage 'first' has not finished: these are its weights after step 1 of 2; "
        f"go on with it: limite resume {copy}",
        "stage 'second' has left no weights yet; these are those of 'first'",
    )
    assert notes(copy, "first") == list(done.notes[:1])
    kept = weights_of(copy, "01-first/checkpoints/step-000001")
    ours = ModelDirectory.open(tmp_path / "out").load()
    assert all(torch.equal(value, kept[name]) for name, value in ours.named_parameters())


def test_a_finished_run_has_nothing_to_tell(copy: Path) -> None:
    assert notes(copy) == []
    assert notes(copy, "first") == []


def test_a_failed_stage_has_not_finished(copy: Path) -> None:
    (copy / "stages" / "03-second" / "receipt.json").write_text('{"status": "failed"}')
    assert "'second' has not finished" in notes(copy)[0]


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ("frist", "--stage: .* has no stage 'frist'; did you mean 'first'"),
        ("zzz", "no stage 'zzz'; those that train are first, second"),
        ("after", "'after' trains nothing; stages that do are first, second"),
        ("second", "'second' has left no weights yet"),
    ],
)
def test_other_stages_are_refused(copy: Path, stage: str, said: str) -> None:
    shutil.rmtree(copy / "stages" / "03-second")
    with pytest.raises(LimiteError, match=said):
        trained(copy, stage)


def test_a_run_without_weights_is_told(copy: Path) -> None:
    for stage in ("01-first", "03-second"):
        shutil.rmtree(copy / "stages" / stage)
    with pytest.raises(LimiteError, match=r"no stage of it has left weights yet$"):
        trained(copy)
    receipt = read_json(copy / "receipt.json")
    (copy / "receipt.json").write_text(json.dumps({**receipt, "only": ["after"]}))
    with pytest.raises(LimiteError, match=r"no stage of it has left weights \(left out by --only"):
        trained(copy)
    with pytest.raises(LimiteError, match=r"'second' has left no weights \(left out by --only"):
        trained(copy, "second")


# Damage


def latest(run: Path) -> Path:
    return run / "stages" / "03-second" / "checkpoints" / "step-000001"


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_refused(copy: Path, tmp_path: Path, file: str) -> None:
    place = latest(copy) / file
    content = bytearray(place.read_bytes())
    content[-3] ^= 1
    place.write_bytes(content)
    with pytest.raises(LimiteError, match=rf"{file}: its content does not match"):
        exported(copy, tmp_path / "out")
    place.write_bytes(content[:-8])
    with pytest.raises(LimiteError, match=rf"{file}: \d+ bytes where the manifest says"):
        exported(copy, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def rewritten(run: Path, change: Any) -> None:
    """Another checkpoint, sound in itself, in place of the stage's last."""
    found = read_checkpoint(latest(run))
    shutil.rmtree(latest(run))
    payloads = {name: dict(tensors) for name, tensors in found.payloads.items()}
    change(payloads["model"])
    write_checkpoint(latest(run).parent, 1, payloads, found.state, found.contract, 1)


def test_other_weights_under_a_sound_manifest_are_refused(copy: Path, tmp_path: Path) -> None:
    rewritten(copy, lambda model: model["norm.weight"].mul_(2))
    with pytest.raises(LimiteError, match=rf"{MANIFEST}: it is not the one that the stage's"):
        exported(copy, tmp_path / "out")


def test_weights_of_another_model_are_told_one_by_one(copy: Path, tmp_path: Path) -> None:
    (copy / "stages" / "03-second" / "receipt.json").unlink()

    def change(model: dict[str, torch.Tensor]) -> None:
        model["layers.0.mlp.up_prj.weight"] = model.pop("layers.0.mlp.up_proj.weight")
        model["norm.weight"] = torch.ones(17)

    rewritten(copy, change)
    with pytest.raises(SettingsError) as caught:
        exported(copy, tmp_path / "out")
    assert len(caught.value.mistakes) == 3
    assert "did you mean 'layers.0.mlp.up_prj.weight'" in str(caught.value)
    assert "norm.weight: expected shape [16], got [17]" in str(caught.value)


def test_what_float16_cannot_hold_is_refused_by_name(copy: Path, tmp_path: Path) -> None:
    (copy / "stages" / "03-second" / "receipt.json").unlink()
    rewritten(copy, lambda model: model["layers.1.mlp.down_proj.weight"][2, 3].fill_(1e5))
    said = r"layers\.1\.mlp\.down_proj\.weight: expected values that torch\.float16 can hold"
    with pytest.raises(LimiteError, match=said):
        exported(copy, tmp_path / "out", dtype="float16")
    assert list(tmp_path.glob("*out*")) == []
    exported(copy, tmp_path / "out", dtype="bfloat16")


# Runs that began with a directory


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``start``, a model's directory, and ``run``, which went on from it."""
    folder = tmp_path_factory.mktemp("begun")
    words = write_words(
        folder / "words", generation={"eos_token_id": [0, 2], "surprise": 1}, template=CHATML
    )
    spec = attrs.evolve(preset("limite-tiny"), vocabulary=370, padded_vocabulary=384, layers=2)
    decoder = build_decoder(spec.filled(), 5)
    save_pretrained(decoder, folder / "bare")
    config = json.loads((folder / "bare" / "config.json").read_text())
    (words / "config.json").write_text(json.dumps(config | {"eos_token_id": 7}))
    save_pretrained(decoder, folder / "start", source=ModelDirectory.open(words))
    model = "model = 'start'"
    (folder / "toy.toml").write_text(STAGES.format(model=model))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        start(folder / "toy.toml", out=folder, name="run", only=("first",), echo=quiet)
    return folder


@pytest.fixture
def moved(begun: Path, tmp_path: Path) -> Path:
    """A copy of it, whose run began with the copy of the directory."""
    folder = Path(shutil.copytree(begun, tmp_path / "moved"))
    recipe = folder / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace(str(begun), str(folder)))
    return folder


def test_files_beside_come_from_the_directory_as_they_are(begun: Path, tmp_path: Path) -> None:
    done = exported(begun / "run", tmp_path / "out")
    beside = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
    for name in (*beside, "generation_config.json"):
        assert (tmp_path / "out" / name).read_bytes() == (begun / "start" / name).read_bytes()
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config == json.loads((begun / "start" / "config.json").read_text())
    left = "stage 'second' has left no weights (left out by --only); these are those of 'first'"
    assert done.notes[0] == left
    kept = weights_of(begun / "run", "01-first/checkpoints/step-000002")
    ours = ModelDirectory.open(tmp_path / "out").load()
    assert all(torch.equal(value, kept[name]) for name, value in ours.named_parameters())
    read = PretrainedTokenizer(path=str(tmp_path / "out"))
    assert read.eos_ids == (0, 2)
    found = look_at_run(trained(begun / "run"))
    assert found.mistakes == ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "tokenizers", None)
        unopened = look_at_run(trained(begun / "run"))
    assert (unopened.shape, unopened.memory) == (found.shape, found.memory)
    assert unopened.tokenizer is not None
    assert "limite[hf]" in unopened.tokenizer.unopened
    assert found.tokenizer == look_at(tmp_path / "out").tokenizer
    assert found.parameters == look_at(tmp_path / "out").parameters
    assert (
        "config.json names end ids 7, which are not used; responses end at 0, 2" in found.warnings
    )
    assert read.render_prompt(PROBLEM) == PretrainedTokenizer(
        path=str(begun / "start")
    ).render_prompt(PROBLEM)


def test_the_weights_it_began_with_are_not_needed(moved: Path, tmp_path: Path) -> None:
    (moved / "start" / "model.safetensors").unlink()
    exported(moved / "run", tmp_path / "out")


def test_another_tokenizer_or_configuration_is_refused(moved: Path, tmp_path: Path) -> None:
    (moved / "start" / "tokenizer_config.json").unlink()
    (moved / "start" / "vocab.json").write_text("{}")
    with (moved / "start" / "generation_config.json").open("a") as file:
        file.write(" ")
    with (moved / "start" / "config.json").open("a") as file:
        file.write(" ")
    with pytest.raises(LimiteError) as caught:
        exported(moved / "run", tmp_path / "out")
    assert str(caught.value) == (
        f"{moved / 'run'}: the files in {moved / 'start'} are not what they were when the run "
        "began: tokenizer_config.json is gone, vocab.json is new, config.json is another, "
        "generation_config.json is another; put them back as they were"
    )
    assert any("it cannot be exported: " in warning for warning in look(moved).warnings)
    shutil.rmtree(moved / "start")
    with pytest.raises(LimiteError, match=r"which is not there; .* put it back, weights are not"):
        exported(moved / "run", tmp_path / "out")
    found = look(moved)
    assert f"{moved / 'start'}: there is no such directory" in str(found.mistakes[0])
    assert (found.shape, found.stored["float32"].tensors > 10) == (None, True)
    assert not (tmp_path / "out").exists()


def look(moved: Path) -> Look:
    return look_at_run(trained(moved / "run"))


def test_what_no_file_says_is_told(moved: Path, tmp_path: Path) -> None:
    recipe = moved / "run" / "recipe.toml"
    told = recipe.read_text().replace("[tokenizer]", '[tokenizer]\nsystem = "Be brief."')
    recipe.write_text(told)
    found = exported(moved / "run", tmp_path / "out").notes
    assert any("with system = 'Be brief.', which no file says" in note for note in found)


# Directories


def test_a_directory_is_written_again_as_it_is(begun: Path, tmp_path: Path) -> None:
    before = digest(begun / "start")
    export_model(directory_source(begun / "start"), tmp_path / "out")
    assert digest(begun / "start") == before
    after = digest(tmp_path / "out")
    assert after.pop("config.json") != before.pop("config.json")  # indented, and the same
    assert after == before
    both = [(begun / "start", tmp_path / "out")[place] / "config.json" for place in (0, 1)]
    assert json.loads(both[0].read_text()) == json.loads(both[1].read_text())


def test_code_of_a_model_stays_behind(moved: Path, tmp_path: Path) -> None:
    place = moved / "start" / "config.json"
    config = json.loads(place.read_text())
    more = {"auto_map": {"AutoConfig": "code.Config"}, "dtype": "float32"}
    place.write_text(json.dumps(config | more))
    done = export_model(directory_source(moved / "start"), tmp_path / "out", dtype="bf16")
    written = json.loads((tmp_path / "out" / "config.json").read_text())
    assert written == config | {"dtype": "bfloat16", "torch_dtype": "bfloat16"}
    assert "auto_map" in done.notes[-1]


def test_a_directory_without_tokenizer_is_told(begun: Path, tmp_path: Path) -> None:
    done = export_model(directory_source(begun / "bare"), tmp_path / "out")
    assert not done.tokenizer
    assert done.notes[0].startswith("there is no tokenizer.json")


def test_a_name_that_exists_is_refused(begun: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    source = directory_source(begun / "bare")
    with pytest.raises(LimiteError, match="exists and is not overwritten"):
        export_model(source, tmp_path / "out")
    with pytest.raises(LimiteError, match="there is no folder"):
        export_model(source, tmp_path / "no" / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_weights_that_change_meanwhile_are_refused(copy: Path, tmp_path: Path) -> None:
    found: Trained = trained(copy)
    source = run_source(found)
    place = latest(copy) / "model.safetensors"
    place.write_bytes(place.read_bytes()[:-4] + b"\0\0\0\0")
    with pytest.raises(LimiteError, match="it was changed after its header was read"):
        export_model(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
