"""Every recipe that comes with limite: it checks, and it runs through all its stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from limite.core.discover import load_registry
from limite.core.recipe.check import check_file
from limite.core.recipe.engine import start
from limite.core.recipe.stages import RL, SFT, Eval, Preference, Soup

RECIPES = Path(__file__).parents[2] / "recipes"
FILES = sorted(path for path in RECIPES.iterdir() if path.suffix in (".py", ".toml"))

SHORTER = {
    SFT: {"steps": 2, "documents": 64, "batch": 4},
    RL: {"steps": 1, "groups": 4, "rollouts": 2, "off_policy_updates": 1},
    Preference: {"steps": 2, "batch": 4, "sampled.count": 20, "sampled.pairs": "all"},
    Soup: {"greedy.count": 10, "greedy.samples": 1},
    Eval: {"count": 20, "samples": 1},
}


def test_there_are_recipes():
    assert {path.stem for path in FILES} >= {"preference_soup", "quickstart", "smoke"}


OWN_TESTS = {"matched_tiny", "objectives_tiny", "smollm2_arithmetic", "violetto", "violetto_tiny"}
"""Recipes that begin with files, or take long, and have tests of their own."""


@pytest.mark.parametrize(
    "path", [each for each in FILES if each.stem not in OWN_TESTS], ids=lambda path: path.stem
)
def test_a_recipe_runs_through_all_its_stages(path, tmp_path):
    loaded, _ = check_file(path, (), load_registry())
    shorter = [
        f"stages.{name}.{setting}={value}"
        for name, stage in loaded.recipe.stages.items()
        for setting, value in SHORTER[type(stage)].items()
    ]
    result = start(path, out=tmp_path, overrides=shorter, echo=lambda _line: None)
    assert list(result.stages) == list(loaded.recipe.stages)
    assert all(receipt["status"] == "finished" for receipt in result.stages.values())
    assert result.report.stat().st_size > 10_000
