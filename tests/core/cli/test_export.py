"""``limite export``: what it says, and how it refuses."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.cli.sizes import UNITS, parse_bytes, shown_bytes
from limite.core.errors import LimiteError
from limite.core.recipe.engine import start
from tests.core.pretrained.words import write_words
from tests.tiny_recipe import head, llama, taught

RECIPE = head("toy", llama(2)) + taught("linear-equation")
ROWS = 54  # three special ids, and 51 characters
PARAMETERS = ROWS * 16 + 2 * (2 * 16 * 16 + 2 * 16 * 8 + 3 * 16 * 24 + 2 * 16) + 16


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds a run, under ``runs/toy``."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "toy.toml").write_text(RECIPE)
    start(folder / "toy.toml", out=folder / "runs", name="toy", echo=lambda _line: None)
    return folder


@pytest.fixture(autouse=True)
def there(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)


def test_it_says_what_it_wrote(limite, tmp_path):
    ended = limite("export", "toy", "--to", str(tmp_path / "out"))
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert [line.split(maxsplit=1) for line in lines[:5]] == [
        ["WHAT", "IS"],
        ["weights", "of stage sft, step 1 of 1"],
        ["family", "llama (LlamaForCausalLM)"],
        ["parameters", f"{PARAMETERS:,} in float32"],
        ["tokenizer", "yes"],
    ]
    named = [line.split()[0] for line in lines[5:-1]]
    assert named == sorted(file.name for file in (tmp_path / "out").iterdir())
    assert lines[-1] == f"wrote {tmp_path / 'out'}"


def test_json_and_shards(limite, tmp_path):
    arguments = ("--to", str(tmp_path / "out"), "--dtype", "bf16", "--shard-size", "4kb", "--json")
    page = json.loads(limite("export", "runs/toy", *arguments).out)
    assert page["origin"] == {
        "run": "runs/toy", "stage": "sft", "step": 1, "steps": 1, "finished": True,
        "critic": False,
    }  # fmt: skip
    assert page["dtypes"] == {"bfloat16": PARAMETERS}
    shards = [name for name in page["files"] if name.endswith(".safetensors")]
    assert len(shards) == 3
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 2 * PARAMETERS
    again = json.loads(limite("export", str(tmp_path / "out"), "--to", "o", "--json").out)
    assert (again["origin"], again["dtype"]) == (None, "bfloat16")


def test_a_terminal_sees_a_bar(limite, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    ended = limite("export", "toy", "--to", str(tmp_path / "out"))
    assert ended.code == 0
    assert "100%" in ended.out


def test_mistakes_end_with_code_2(limite, runs, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    to = ("--to", str(tmp_path / "out"))
    limite("export", "toy", "--to", "model")
    before = sorted(runs.rglob("*"))
    for arguments, said in (
        (("toy",), "Missing option '--to'"),
        (("toy", "--to", str(tmp_path)), "exists and is not overwritten"),
        (("toy", "--to", str(tmp_path / "no" / "out")), "there is no folder"),
        (("runs/toi", *to), "did you mean 'runs/toy'?"),
        (("tooy", *to), "no such run and no such directory"),
        ((str(tmp_path / "empty"), *to), "nor is it a model's directory: there is no config.json"),
        (("runs", *to), "it holds the runs toy"),
        (("runs/toy/stages", *to), "it is a part of the run 'toy'"),
        ((str(tmp_path / "model.gguf"), *to), "got a file; limite import gguf"),
        (("toy.toml", *to), "got a file"),
        (("toy", "--stage", "stf", *to), "has no stage 'stf'; did you mean 'sft'?"),
        (("model", "--stage", "sft", *to), "--stage: model is a model's directory"),
        (("toy", "--dtype", "flaot16", *to), "--dtype: expected bfloat16, float16 or float32"),
        (("toy", "--shard-size", "4XB", *to), "--shard-size: expected a size like 4GB"),
        (("toy", "--shard-size", "0.4", *to), "--shard-size: expected at least 1 byte"),
        (("toy", "--shardsize", "4GB", *to), "--shard-size"),
    ):
        ended = limite("export", *arguments)
        assert (ended.code, ended.out) == (2, ""), arguments
        assert said in ended.err, arguments
    assert not (tmp_path / "out").exists()
    assert sorted(runs.rglob("*")) == before


def test_a_tokenizer_with_more_ids_than_rows_is_refused(limite, tmp_path):
    model, out = tmp_path / "model", tmp_path / "out"
    limite("export", "toy", "--to", str(model))
    write_words(model)
    told = f"{model / 'tokenizer.json'}: the tokenizer has 365 ids, and the embedding only {ROWS}"
    for command in (("export",), ("graft", "--attention", "simplicial", "--layers", "1")):
        ended = limite(command[0], str(model), "--to", str(out), *command[1:])
        assert (ended.code, ended.out) == (2, "")
        assert told in ended.err
    assert not out.exists()


def test_a_run_is_exported_before_it_is_grafted(limite, tmp_path):
    to = ("--to", str(tmp_path / "out"), "--attention", "simplicial", "--layers", "1")
    ended = limite("graft", "runs/toy", *to)
    assert ended.code == 2
    assert "it is the folder of a run: limite export runs/toy --to DIR" in ended.err


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (errno.EROFS, 2, "error: --to: cannot write in {}: Read-only file system; name a folder"),
        (errno.EACCES, 2, "error: --to: cannot write in {}: Permission denied; name a folder"),
        (errno.ENOSPC, 1, "error: {}: no space left"),
    ],
)
def test_a_folder_that_cannot_be_written_in(limite, tmp_path, monkeypatch, number, code, said):
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    ended = limite("export", "toy", "--to", str(tmp_path / "out"))
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(said.format(tmp_path))


def test_ctrl_c_leaves_nothing_and_says_so(limite, tmp_path, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("limite.core.pretrained.export.write_tensor_directory", stop)
    ended = limite("export", "toy", "--to", str(tmp_path / "out"))
    assert ended.code == 130
    assert f"stopped; nothing was written to {tmp_path / 'out'}" in ended.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4_000_000_000), ("500MB", 500_000_000), ("4GiB", 4 << 30), ("4gib", 4 << 30),
        ("1.5 GB", 1_500_000_000), ("7", 7), ("12B", 12), ("2TiB", 2 << 40), (" 3kB ", 3000),
    ],
)  # fmt: skip
def test_sizes_are_read(text, size):
    assert parse_bytes(text, "--size") == size


@given(st.integers(1, 10**15), st.sampled_from(sorted(UNITS)))
def test_whole_sizes_of_every_unit_are_exact(count, unit):
    assert parse_bytes(f"{count}{unit}", "--size") == count * UNITS[unit]


@pytest.mark.parametrize("text", ["", "GB", "-4GB", "4 G", "4,5GB", "1e9", "0", "4GBs", "０x4"])
def test_other_sizes_are_refused(text):
    with pytest.raises(LimiteError, match="--size: expected"):
        parse_bytes(text, "--size")


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 B"), (999, "999 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (1 << 20, "1 MiB"),
     (271 << 20, "271 MiB"), (3 << 30, "3 GiB"), (5 << 50, "5,120 TiB")],
)  # fmt: skip
def test_sizes_are_told(size, said):
    assert shown_bytes(size) == said


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom limite.core.cli.main import main\n"
        "try:\n    main(['export', '--help'])\n"
        "except SystemExit:\n    pass\nprint(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"
    assert "Write a model as a directory" in ended.stdout
