"""``limite inspect``: what it says of directories and runs, sound and broken."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from limite.core.pretrained.export import export_model
from limite.core.recipe.engine import start
from limite.core.recipe.export import run_source
from limite.core.recipe.run_plugins import missing_plugins
from limite.core.recipe.trained import trained
from limite.core.registry import BrokenPlugin, Registry
from tests.core.cli.test_export import PARAMETERS, RECIPE


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, ``runs/toy``, and its export, ``model``."""
    folder = tmp_path_factory.mktemp("inspect")
    (folder / "toy.toml").write_text(RECIPE)
    start(folder / "toy.toml", out=folder / "runs", name="toy", echo=lambda _line: None)
    export_model(run_source(trained(folder / "runs" / "toy")), folder / "model")
    return folder


@pytest.fixture
def there(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, and the working directory."""
    folder = Path(shutil.copytree(made, tmp_path / "made"))
    monkeypatch.chdir(folder)
    return folder


TABLE = {
    "model": "model",
    "family": "llama (LlamaForCausalLM)",
    "shape": "2 layers, 16 channels, 2 heads of 8 (1 of keys and values), MLP 24",
    "parameters": f"{PARAMETERS:,}: MLP 2,304, attention 1,536, token table 864, other 80",
    "in float32": f"{PARAMETERS:,} numbers, 20 tensors, 18.7 KiB",
    "attention": "global x 2",
    "context": "64 tokens",
    "rotary": "base 10,000",
    "tokenizer": "WordLevel, 54 ids in 54 rows",
    "special ids": "begin 1, padding 0",
    "responses end at": "<eos> (2), from generation_config.json",
    "chat template": "none",
    "to train": "about 150 KiB: weights, gradients, AdamW, and what the backward pass keeps of "
    "2 rows of 20 tokens, in float32",
    "to sample, float32": "34.7 KiB: weights 18.7 KiB, cache 8 KiB for each of 2 rows of 20 tokens",
    "to sample, bfloat16": "17.3 KiB: weights 9.34 KiB, cache 4 KiB for each of 2 rows of 20 "
    "tokens",
}


def table(out: str) -> dict[str, str]:
    head, *rows = out.splitlines()
    at = head.index("IS")
    return {row[:at].strip(): row[at:] for row in rows}


def test_a_directory_as_a_table(limite, there):
    ended = limite("inspect", "model", "--context", "20", "--batch", "2")
    assert (ended.code, ended.err) == (0, "")
    found = table(ended.out)
    files = {name: found.pop(name) for name in list(found) if name not in TABLE}
    assert found == TABLE
    assert set(files) == {each.name for each in (there / "model").iterdir()}


def test_a_run_by_its_name(limite, there):
    ended = limite("inspect", "toy")
    assert (ended.code, ended.err) == (0, "")
    found = table(ended.out)
    assert found["model"] == "stage sft, step 1 of 1 of runs/toy"
    assert found["tokenizer"] == "characters, 54 ids in 54 rows"
    assert found["responses end at"] == "<eos> (2), from the tokenizer"
    same = ("family", "shape", "parameters", "in float32", "attention", "context")
    assert {name: found[name] for name in same} == {name: TABLE[name] for name in same}
    assert {"manifest.json", "model.safetensors", "optimizer.safetensors"} <= set(found)


def test_warnings_are_no_mistakes(limite, there):
    (there / "model" / "more.safetensors").write_bytes(b"")
    (there / "runs/toy/stages/01-sft/receipt.json").unlink()
    ended = limite("inspect", "model")
    assert ended.code == 0
    assert ended.out.splitlines()[-1].startswith("warning: more.safetensors is not one of")
    ended = limite("inspect", "toy")
    assert ended.code == 0
    assert "warning: stage 'sft' has not finished" in ended.out


def test_a_broken_directory_is_shown_and_its_mistakes_end_with_2(limite, there):
    config = there / "model" / "config.json"
    config.write_text(config.read_text().replace('"silu"', '"gelu"'))
    (there / "model" / "generation_config.json").write_text("[")
    ended = limite("inspect", "model")
    assert ended.code == 2
    assert table(ended.out)["in float32"] == TABLE["in float32"]
    assert "to train" not in ended.out
    lines = ended.err.splitlines()
    assert lines[0] == "model/config.json: hidden_act: only 'silu' is implemented, got 'gelu'"
    assert lines[1].startswith("model/generation_config.json: not JSON")
    page = limite("inspect", "model", "--json")
    assert page.code == 2
    told = json.loads(page.out)["mistakes"]
    assert [each["text"] for each in told] == lines
    assert told[0]["path"] == "hidden_act"


def test_a_damaged_run_is_shown_as_far_as_it_goes(limite, there):
    weights = there / "runs/toy/stages/01-sft/checkpoints/step-000001/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    ended = limite("inspect", "toy")
    assert ended.code == 2
    assert "bytes where the manifest says" in ended.err
    assert table(ended.out)["shape"] == TABLE["shape"]


def test_json(limite, there):
    page = json.loads(limite("inspect", "model", "--json").out)
    assert (page["family"], page["mistakes"], page["warnings"]) == ("llama", [], [])
    assert sum(page["parameters"].values()) == PARAMETERS
    assert page["shape"]["attention"] == {"global": 2}
    assert page["memory"]["context"] == 64
    assert page["tokenizer"]["ends"] == {"2": "<eos>"}
    assert page["stored"]["float32"]["bytes"] == 4 * PARAMETERS


def test_mistakes_of_the_asker(limite, there):
    for arguments, said in (
        (("modle",), "no such run and no such directory; did you mean 'model'?"),
        (("toy.toml",), "got a file"),
        (("model", "--stage", "sft"), "which has no stages"),
        (("toy", "--stage", "sf"), "did you mean 'sft'?"),
        (("model", "--context", "65"), "--context: expected at most the model's 64 tokens"),
        (("model", "--context", "0"), "--context"),
        (("model", "--batch", "many"), "--batch"),
    ):
        ended = limite("inspect", *arguments)
        assert (ended.code, ended.out) == (2, ""), arguments
        assert said in ended.err, arguments


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom limite.core.cli.main import main\n"
        "try:\n    main(['inspect', '--help'])\n"
        "except SystemExit:\n    pass\nprint(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"
    assert "Show what a model is" in ended.stdout


def made_with(run: Path, plugins: dict[str, str]) -> None:
    """The run, as if its objective had come from a plugin."""
    receipt = json.loads((run / "receipt.json").read_text())
    receipt["plugins"] |= plugins
    (run / "receipt.json").write_text(json.dumps(receipt))
    recipe = (run / "recipe.toml").read_text()
    assert recipe.count('type = "sft"') == 2
    head, _, tail = recipe.rpartition('type = "sft"')
    (run / "recipe.toml").write_text(f'{head}type = "softclip"{tail}')


@pytest.mark.parametrize("command", [["inspect"], ["resume"], ["export", "--to", "out"]])
def test_a_run_whose_plugin_is_gone_names_it(limite, there, command):
    made_with(there / "runs" / "toy", {"limite-softclip": "0.3"})
    ended = limite(command[0], "runs/toy", *command[1:])
    assert (ended.code, ended.out) == (2, "")
    said = " ".join(ended.err.split())
    assert "unknown objective 'softclip'" in said
    assert said.startswith(
        "runs/toy/receipt.json: plugins: the run was made with the plugin limite-softclip 0.3, "
        "which is not installed; install 0.3 from where it came, as an index may have another's "
        "limite-softclip "
    )


def test_a_receipt_that_cannot_be_read_does_not_hide_what_is_wrong(limite, there):
    made_with(there / "runs" / "toy", {"limite-softclip": "0.3"})
    (there / "runs" / "toy" / "receipt.json").write_text("[]")
    ended = limite("inspect", "runs/toy")
    assert ended.code == 2
    assert "unknown objective 'softclip'" in ended.err


def test_plugins_that_are_not_what_they_were_are_told_apart():
    registry = Registry()
    registry.add_broken(
        BrokenPlugin(plugin="a", distribution="limite-a", version="1", reason="no module")
    )
    recorded = {"limite-a": "1", "attrs": "0.1", "limite-gone": "2", "limite": "0"}
    other, broken, gone = missing_plugins(recorded, registry)
    assert other.startswith("the plugin attrs 0.1, and ")
    assert other.endswith(
        " is installed; install 0.1 from where it came, as an index may have another's attrs"
    )
    assert broken == "the plugin limite-a 1, which is broken here: no module"
    assert gone.startswith("the plugin limite-gone 2, which is not installed; install 2 from")
    assert "pip install" not in f"{other} {gone}"
