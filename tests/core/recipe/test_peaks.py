"""A plan's memory of a learner is what is measured, within a tenth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.nightly
def test_learning_takes_what_the_plan_says() -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("peaks.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told) == 12
    apart = {name: each["planned"] / each["measured"] - 1 for name, each in told.items()}
    assert {name: round(each, 3) for name, each in apart.items() if abs(each) > 0.1} == {}
