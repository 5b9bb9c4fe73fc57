"""``limite soup``: what it writes and says, greedily and not, and how it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.save import save_pretrained
from limite.core.recipe.engine import start
from tests.core.pretrained.words import write_words
from tests.tiny_recipe import head, taught

SPEC = LlamaSpec(
    width=16, layers=1, heads=2, kv_heads=1, head_width=8, mlp_width=24, context=64,
    vocabulary=370,
)  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three models, a run that went on from one, and a benchmark."""
    folder = tmp_path_factory.mktemp("soup")
    for seed, name in enumerate("abc"):
        save_pretrained(build_decoder(SPEC.filled(), seed), folder / name)
        write_words(folder / name, generation={"eos_token_id": 0})
    model = f'seed = 1\nmodel = "{folder / "a"}"\n'
    (folder / "toy.toml").write_text(head("toy", model) + taught("linear-equation"))
    start(folder / "toy.toml", out=folder / "runs", name="toy", echo=lambda _line: None)
    problems = [
        {"problem": f"{n}+{n}=?", "answer": {"type": "integer", "value": str(2 * n)}}
        for n in range(5)
    ]
    (folder / "problems.jsonl").write_text("".join(json.dumps(each) + "\n" for each in problems))
    return folder


@pytest.fixture(autouse=True)
def there(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)


def weights(path: Path, name: str = "model.norm.weight") -> torch.Tensor:
    return load_file(path / "model.safetensors")[name]


def test_a_weighted_soup(limite, tmp_path):
    ended = limite("soup", "a", "b", "c", "--to", str(tmp_path / "out"), "--weights", "0.5,0.3,0.2")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    assert lines[:4] == [["MODEL", "WEIGHT"], ["a", "0.5"], ["b", "0.3"], ["c", "0.2"]]
    assert lines[-1][:2] == ["wrote", f"{tmp_path / 'out'}:"]
    name = "model.embed_tokens.weight"
    a, b, c = (weights(Path(each), name).double() for each in "abc")
    expected = (0.5 * a + 0.3 * b + 0.2 * c).float()
    torch.testing.assert_close(weights(tmp_path / "out", name), expected, rtol=1.2e-7, atol=1e-12)


def test_a_run_and_the_directory_it_began_with(limite, tmp_path):
    arguments = ("soup", "a", "toy", "--to", str(tmp_path / "out"), "--dtype", "bf16", "--json")
    page = json.loads(limite(*arguments).out)
    assert (page["dtype"], page["soup"]["method"]) == ("bfloat16", "uniform")
    assert [each["weight"] for each in page["soup"]["models"]] == [0.5, 0.5]
    receipt = json.loads((tmp_path / "out" / "soup.json").read_text())
    assert receipt == page["soup"]


def test_weights_that_do_not_quite_sum_to_1_are_told(limite, tmp_path):
    given = "0.3333333,0.3333333,0.3333333"
    ended = limite("soup", "a", "b", "c", "--to", str(tmp_path / "out"), "--weights", given)
    assert "do not quite sum to 1 and were divided by their sum" in ended.out
    receipt = json.loads((tmp_path / "out" / "soup.json").read_text())
    assert receipt["weights_given"] == [0.3333333] * 3
    assert sum(each["weight"] for each in receipt["models"]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    "options", [("--max-tokens", "8"), ("--samples", "3", "--max-tokens", "4")]
)
def test_a_greedy_soup_says_what_it_tried(options, limite, tmp_path):
    greedy = ("--greedy", "--benchmark", "problems.jsonl", *options)
    ended = limite("soup", "a", "b", "c", "--to", str(tmp_path / "out"), *greedy)
    assert (ended.code, ended.err) == (0, "")
    total = 15 if "--samples" in options else 5
    # Random weights answer nothing: all tie, and ties keep a model.
    assert ended.out.splitlines()[:6] == [
        f"{names}: 0/{total} = 0.0%" for names in ("a", "b", "c", "a + b", "a + b + c")
    ] + [""]
    rows = [line.split() for line in ended.out.splitlines()[6:10]]
    assert rows[0] == ["AVERAGE", "OF", "RIGHT", "ACCURACY", "INTERVAL"]
    assert rows[1][:3] == ["a", f"0/{total}", "0.0%"]
    assert rows[3][:3] == ["+", "c", f"0/{total}"]
    assert rows[3][-1] == "kept"
    receipt = json.loads((tmp_path / "out" / "soup.json").read_text())
    assert receipt["method"] == "greedy"
    assert receipt["greedy"]["chosen"] == ["a", "b", "c"]
    assert receipt["greedy"]["steps"][1]["kept"] is True
    assert receipt["protocol"]["samples"] == total // 5
    low, high = receipt["greedy"]["interval"]
    assert low == 0.0 < high < 1.0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("a", "b", "--weights", "0.5,0.6"), "these sum to 1.1; in the same proportions"),
        (("a", "b", "--weights", "0.5;0.5"), "expected numbers like 0.5,0.3,0.2"),
        (("a", "b", "--weights", "1"), "expected 2, one for each model, got 1"),
        (("a", "b", "--greedy"), "needs --benchmark FILE"),
        (("a", "--greedy", "--benchmark", "problems.jsonl", "--weights", "1"), "finds its own"),
        (("a", "--samples", "3"), "--samples: belongs to --greedy"),
        (("a", "--benchmark", "problems.jsonl"), "--benchmark: belongs to --greedy"),
        (("a", "--dtype", "int8"), "expected bfloat16, float16 or float32, got 'int8'"),
        (("a", "--shard-size", "big"), "expected a size like 4GB"),
        (("a", "d"), "d: no such run and no such directory"),
        (("a", "--greedy", "--benchmark", "problem.jsonl"), "did you mean 'problems.jsonl'?"),
    ],
)
def test_what_is_asked_wrongly(arguments, told, limite, tmp_path):
    ended = limite("soup", *arguments, "--to", str(tmp_path / "out"))
    assert ended.code == 2
    assert told in ended.err
    assert not (tmp_path / "out").exists()


def test_an_existing_name_is_refused(limite):
    ended = limite("soup", "a", "--to", "b")
    assert (ended.code, "b exists and is not overwritten" in ended.err) == (2, True)


def test_help_needs_no_torch():
    code = (
        "import sys; from limite.core.cli.main import cli\n"
        "cli.main(['soup', '--help'], standalone_mode=False); assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--greedy" in done.stdout
