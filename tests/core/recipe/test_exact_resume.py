"""A run killed anywhere and resumed leaves byte for byte what the undisturbed run left."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.nightly)])
def test_killed_at_any_point_and_resumed_is_the_undisturbed_run(tmp_path: Path, kills: int) -> None:
    """Every kind of stage, some saved in the background; half the kills are at a random moment."""
    seed = secrets.randbelow(2**32)
    script, recipe = HERE / "killed_runs.py", HERE / "pipeline.toml"
    done = subprocess.run(
        [sys.executable, script, recipe, tmp_path, str(seed), str(kills)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}\n{done.stderr}"
    told = json.loads(done.stdout.splitlines()[-1])
    # Ten stages: weights, moments, states, receipts, metrics, rollouts, results.
    assert told["files"] >= 90
    assert len(told["runs"]) == kills
    # One that is killed by its event dies; a clock may be faster or slower than the first run's.
    assert not any(run["lived"] for run in told["runs"][::2]), f"seed {seed}: {told}"
    assert sum(run["lived"] for run in told["runs"]) <= kills // 3, f"seed {seed}: {told}"
    for run in told["runs"]:
        assert run["differs"] == [] == run["violations"], f"seed {seed}: {told}"


@pytest.mark.parametrize(
    ("kills", "seeds"), [(1, [1]), pytest.param(40, [1, 2], marks=pytest.mark.nightly)]
)
def test_a_comparison_killed_at_any_point_and_resumed_is_the_undisturbed_one(
    tmp_path: Path, kills: int, seeds: list[int]
) -> None:
    """Several runs in one folder, and what compares them."""
    seed = secrets.randbelow(2**32)
    script, recipe = HERE / "killed_runs.py", HERE / "matched" / "pair.py"
    done = subprocess.run(
        [sys.executable, script, recipe, tmp_path, str(seed), str(kills), f"seeds={seeds}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}\n{done.stderr}"
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["files"] >= 40 * len(seeds)
    for run in told["runs"]:
        assert run["differs"] == [] == run["violations"], f"seed {seed}: {told}"
