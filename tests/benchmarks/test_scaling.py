"""The benchmark of scaling tells of every way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.nightly
def test_it_measures_every_way(tmp_path: Path) -> None:
    place = tmp_path / "scaling.json"
    words = ["--tokens=64", "--row-tokens=16", "--steps=2", "--rounds=1", "--model=limite-tiny"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "scaling", *words, "--json", str(place)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(place.read_text())
    assert set(told["step_s"]) == {"alone", "apart", "replicated", "sharded"}
    assert all(len(each) == 2 and min(each) > 0 for each in told["steps_s"].values())
    for way, each in told["efficiency"].items():
        assert each["of_two_apart"] == told["step_s"]["apart"] / told["step_s"][way]
    assert "of two processes apart" in done.stdout
