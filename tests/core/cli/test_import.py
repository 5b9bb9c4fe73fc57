"""``limite import gguf``: what it says, and how it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from limite.core.cli import progress
from tests.core.pretrained import gguf_files


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = gguf_files.model("qwen3", "Q8_0", tied=False)
    return made.write(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def test_it_says_what_it_made(limite, file, tmp_path):
    ended = limite("import", "gguf", str(file), "--to", str(tmp_path / "out"))
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split(maxsplit=1) for line in ended.out.splitlines()]
    parameters = sum(p.numel() for p in gguf_files.model("qwen3", tied=False).theirs.parameters())
    assert lines[:-1] == [
        ["WHAT", "IS"],
        ["model", "Tiny"],
        ["family", "qwen3, 2 layers"],
        ["parameters", f"{parameters:,} in bfloat16"],
        ["tensors", "16 Q8_0, 9 F32"],
        ["context", "256 tokens"],
        ["tokenizer", f"qwen2, {gguf_rows(file):,} ids"],
        ["responses", "end at  <|im_end|> (362)"],
        ["chat", "template     taken over"],
    ]
    assert lines[-1] == ["wrote", str(tmp_path / "out")]
    assert {each.name for each in (tmp_path / "out").iterdir()} == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def gguf_rows(file: Path) -> int:
    from limite.core.pretrained.gguf_file import GgufFile

    with GgufFile.open(file) as opened:
        return opened.tensors["token_embd.weight"].shape[0]


def test_json(limite, file, tmp_path):
    target = tmp_path / "out"
    ended = limite("import", "gguf", str(file), "--to", str(target), "--dtype", "fp32", "--json")
    page = json.loads(ended.out)
    assert (page["path"], page["dtype"], page["family"]) == (str(target), "float32", "qwen3")
    assert page["end_tokens"] == {"<|im_end|>": 362}
    assert page["notes"] == []


def test_mistakes_end_with_code_2(limite, file, tmp_path):
    for arguments, said in (
        ((str(tmp_path / "no.gguf"), "--to", str(tmp_path / "out")), "no such file"),
        ((str(file), "--to", str(tmp_path)), "exists and is not overwritten"),
        ((str(file), "--to", str(tmp_path / "out"), "--dtype", "int8"), "--dtype: expected"),
        ((str(file),), "Missing option '--to'"),
        ((str(file), "--too", "x"), "--to"),
    ):
        ended = limite("import", "gguf", *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
    assert not (tmp_path / "out").exists()
    assert "did you mean 'gguf'?" in limite("import", "guff").err


def test_a_terminal_sees_a_bar(limite, file, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    ended = limite("import", "gguf", str(file), "--to", str(tmp_path / "out"))
    assert ended.code == 0
    assert "weights" in ended.out
    assert "100%" in ended.out


def test_elsewhere_lines_tell_how_far_it_is(limite, file, tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    ended = limite("import", "gguf", str(file), "--to", str(tmp_path / "out"))
    told = [line for line in ended.out.splitlines() if "of the weights" in line]
    shares = [int(line.split("%")[0]) for line in told]
    assert len(told) == 24  # of 25 tensors; after the last it is done
    assert shares == sorted(shares)
    assert told[0].endswith("% of the weights are written")


def test_help_imports_nothing_heavy():
    import subprocess

    code = (
        "import sys\nfrom limite.core.cli.main import main\n"
        "try:\n    main(['import', 'gguf', '--help'])\n"
        "except SystemExit:\n    pass\nprint(sorted({'torch', 'numpy', 'gguf'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"
    assert "Turn the GGUF file FILE" in ended.stdout
