"""A run killed anywhere and resumed leaves bit for bit what the undisturbed run left."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_killed_at_any_point_and_resumed_is_bitwise_the_undisturbed_run(tmp_path):
    seed = secrets.randbelow(2**32)
    done = subprocess.run(
        [sys.executable, HERE / "killed_runs.py", HERE / "tiny.toml", tmp_path, str(seed), "8"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}\n{done.stderr}"
    told = json.loads(done.stdout.splitlines()[-1])
    # Two trained stages with weights and moments, two evaluations, four batches of rollouts.
    assert told["files"] >= 14
    assert len(told["runs"]) == 8
    assert not any(run["lived"] for run in told["runs"]), f"seed {seed}: {told}"
    assert not any(run["differs"] for run in told["runs"]), f"seed {seed}: {told}"
