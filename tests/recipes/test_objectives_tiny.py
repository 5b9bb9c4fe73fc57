"""Objectives side by side: nothing but the objective differs, and all of it runs."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from limite.core.discover import load_registry
from limite.core.recipe.engine import start
from limite.core.recipe.load import load_recipe
from limite.core.recipe.stages import RL, SFT, Eval, FitCritic

RECIPE = Path(__file__).parents[2] / "recipes" / "objectives_tiny.py"
SHORTER = {
    SFT: {"steps": 60, "documents": 400},
    RL: {"steps": 1, "groups": 6, "rollouts": 4, "off_policy_updates": 2},
    FitCritic: {"steps": 2, "batch": 4, "mixed_only": "false"},
    Eval: {"count": 20, "samples": 1},
}


def test_nothing_but_the_objective_and_its_credit_differs() -> None:
    stages = load_recipe(RECIPE, (), load_registry()).recipe.stages
    rl = {name: stage for name, stage in stages.items() if isinstance(stage, RL)}
    assert len(rl) == 8 * 3
    alike = {"objective": "grpo", "advantage": None, "critic": None}
    for seed in (1, 2, 3):
        same = [
            attrs.evolve(stage, **alike) for name, stage in rl.items() if name.endswith(f"-{seed}")
        ]
        assert len(same) == 8
        assert all(each == same[0] for each in same)
        assert same[0].seed == seed
    for name in rl:
        after = stages[f"after-{name}"]
        assert isinstance(after, Eval)
        assert (after.start, after.against) == (name, "after-sft")


@pytest.mark.nightly
def test_it_runs_through_all_of_it(tmp_path: Path) -> None:
    recipe = load_recipe(RECIPE, (), load_registry()).recipe
    shorter = [
        f"stages.{name}.{setting}={value}"
        for name, stage in recipe.stages.items()
        for setting, value in SHORTER[type(stage)].items()
    ]
    result = start(RECIPE, out=tmp_path, overrides=shorter, echo=lambda _line: None)
    assert list(result.stages) == list(recipe.stages)
    assert all(receipt["status"] == "finished" for receipt in result.stages.values())
