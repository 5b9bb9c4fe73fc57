"""A run over two hosts: network namespaces, each with its torchrun, and a cable between them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from limite.core.jsonl import read_json

HERE = Path(__file__).parent


def has_namespaces() -> bool:
    """Whether this process may make hosts of its own."""
    if os.geteuid() or shutil.which("ip") is None or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-n", "true"], check=False).returncode == 0


def told(*words: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, HERE / "hosts.py", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def final(run: Path) -> dict[str, torch.Tensor]:
    newest = sorted((run / "stages/01-sft/checkpoints").glob("step-*"))[-1]
    return load_file(newest / "model.safetensors")


@pytest.mark.nightly
@pytest.mark.skipif(not has_namespaces(), reason="needs root and network namespaces")
def test_two_hosts_run_one_recipe_and_go_on_after_a_cut_cable(tmp_path: Path) -> None:
    text = (HERE / "several.toml").read_text()
    (tmp_path / "recipe.toml").write_text(text[: text.index("[stages.before]")])
    recipe = str(tmp_path / "recipe.toml")
    (whole,) = told(recipe, str(tmp_path), "whole")
    assert whole["codes"] == [0, 0], whole["said"]
    assert read_json(tmp_path / "whole" / "receipt.json")["hardware"]["ranks"] == 2
    cut, resumed = told(recipe, str(tmp_path), "cut", "25")
    assert 0 not in cut["codes"]
    assert "rank 1 of 2 gives no sign of life" in cut["said"][0]
    assert "rank 1 of 2 has had no answer from the store of the ranks for 6 s" in cut["said"][1]
    assert resumed["codes"] == [0, 0], resumed["said"]
    wanted, found = final(tmp_path / "whole"), final(tmp_path / "cut")
    assert all(torch.equal(found[name], each) for name, each in wanted.items())
