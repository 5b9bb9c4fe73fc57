"""A plan's memory of a learner is what is measured, within a tenth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def apart(script: str) -> list[dict[str, float]]:
    """How far plans of each case lie from what was measured, as a part of that, for each rank."""
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    ranks = told if isinstance(told, list) else [told]
    return [
        {name: round(each["planned"] / each["measured"] - 1, 3) for name, each in rank.items()}
        for rank in ranks
    ]


@pytest.mark.nightly
def test_learning_takes_what_the_plan_says() -> None:
    (found,) = apart("peaks.py")
    assert len(found) == 20
    assert {name: each for name, each in found.items() if abs(each) > 0.1} == {}


@pytest.mark.nightly
def test_ranks_that_share_out_weights_take_what_the_plan_says() -> None:
    ranks = apart("ranks/sharded_peaks.py")
    assert [len(each) for each in ranks] == [8, 8]
    for found in ranks:
        assert {name: each for name, each in found.items() if abs(each) > 0.1} == {}
