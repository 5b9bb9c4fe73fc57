"""A run computes where it was told to: nothing of it is left on the host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from limite.core.cli.run import run
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json

HERE = Path(__file__).parent


@pytest.mark.nightly
def test_every_kind_of_stage_computes_on_the_device_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HERE / "pretend_run.py", HERE / "pipeline.toml", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    receipt = read_json(tmp_path / "there" / "receipt.json")
    assert receipt["device"] == "mps"
    stages = [each.name for each in (tmp_path / "there" / "stages").iterdir()]
    assert len(stages) == 10
    for name in stages:
        assert read_json(tmp_path / "there" / "stages" / name / "receipt.json")["status"] == (
            "finished"
        )


def test_a_device_that_is_not_there_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    called = ["tests-have-no-such.toml", "--device", "cuda", "--out", str(tmp_path / "runs")]
    found = CliRunner().invoke(run, called)
    assert isinstance(found.exception, LimiteError)
    assert "'cuda' was asked for, and torch finds no such GPU here" in str(found.exception)
    assert not (tmp_path / "runs").exists()
