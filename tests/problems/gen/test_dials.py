"""What a difficulty means to a model: the quickstart's own, along the dials of its families.

``pytest -n0 -m nightly tests/problems/gen/test_dials.py`` trains it for some minutes, and asks it.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from limite.core.jsonl import read_jsonl
from limite.core.recipe.engine import start

RECIPE = Path(__file__).parents[3] / "recipes" / "quickstart.py"
FAMILIES = ("modular-expression", "sum-chain")
DIAL = (0.0, 0.2, 0.4, 0.7, 1.0)
PROBLEMS, SAMPLES = 60, 8


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the quickstart's supervised stage."""
    out = tmp_path_factory.mktemp("runs")
    return start(RECIPE, out=out, only=["sft"], echo=lambda _line: None).path


@pytest.mark.nightly
@pytest.mark.parametrize("family", FAMILIES)
def test_the_pass_rate_falls_along_the_dial(
    gen: Callable, trained: Path, tmp_path: Path, family: str
) -> None:
    rates = []
    for difficulty in DIAL:
        asked, found = tmp_path / f"{difficulty}.jsonl", tmp_path / f"{difficulty}-rates.jsonl"
        gen("make", family, "--count", PROBLEMS, "--difficulty", difficulty, "-o", asked)
        gen("calibrate", asked, "--model", trained, "--stage", "sft", "--samples", SAMPLES,
            "--max-tokens", 48, "-o", found)  # fmt: skip
        rates.append([record["difficulty"]["pass_rate"] for record in read_jsonl(found)])
        assert len(rates[-1]) == PROBLEMS
    for easier, harder in itertools.pairwise(rates):
        assert _fall(easier, harder) > -2.0, f"harder problems are solved more often: {rates}"
    assert _fall(rates[0], rates[-1]) > 4.0, f"the dial changes little: {rates}"


def _fall(easier: list[float], harder: list[float]) -> float:
    """How many standard errors the mean falls by. The unit is the problem."""
    error = math.sqrt((statistics.variance(easier) + statistics.variance(harder)) / PROBLEMS)
    return (statistics.mean(easier) - statistics.mean(harder)) / error
