"""``limite report`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from limite.core.cli.main import main

RECIPE = '[stages.sft]\ntype = "sft"\nsteps = 2\n'


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "small-1f3a"
    stage = folder / "stages" / "01-sft"
    stage.mkdir(parents=True)
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "receipt.json").write_text("{}")
    (stage / "metrics.jsonl").write_text('{"step":1,"loss":2.5}\n{"step":2,"loss":1.5}\n')
    (stage / "receipt.json").write_text('{"type":"sft","status":"done","steps":2,"time_s":3.0}')
    return folder


def limite(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_it_prints_what_the_run_shows(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert limite("report", run_folder) == 0
    said = capsys.readouterr().out
    assert said.startswith("This run has no held-out evaluation")
    assert "loss 2.5 → 1.5" in said
    assert f"page: {run_folder / 'report.html'}" in said
    assert (run_folder / "report.html").is_file()
    assert (run_folder / "report.png").is_file()


def test_a_name_under_runs_and_another_file(
    run_folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert limite("report", "small-1f3a", "--out", "page.html", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["page"] == "page.html"
    assert data["stages"][0]["steps"] == 2
    assert (tmp_path / "page.html").is_file()
    assert (tmp_path / "page.png").is_file()
    assert not (run_folder / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("runs/small-1f3b",), "did you mean"),
        (("runs",), "small-1f3a"),
        (("runs/small-1f3a", "--out", "no/where.html"), "--out: there is no folder"),
        (("runs/small-1f3a", "--out", "runs"), "--out: 'runs' is a folder"),
        (("runs/small-1f3a", "--out", "page.pdf"), "--out: the page is HTML"),
    ],
)
def test_mistakes_end_with_code_2_and_a_sentence(
    run_folder: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    assert limite("report", *arguments) == 2
    assert words in capsys.readouterr().err
