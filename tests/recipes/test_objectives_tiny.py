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
    FitCritic: {"steps": 2, "batch": 4, "mixed_only": "false", "held_out": 0.2},
    Eval: {"count": 20, "samples": 1},
}


def test_nothing_but_the_objective_and_its_credit_differs() -> None:
    stages = load_recipe(RECIPE, (), load_registry()).recipe.stages
    rl = {name: stage for name, stage in stages.items() if isinstance(stage, RL)}
    assert len(rl) == 8 * 3 * 3 * 3
    alike = {"objective": "grpo", "advantage": None, "critic": None}
    for seed in (1, 2, 3):
        for updates in (1, 7, 19):
            for rate, figure in (("low", 5e-4), ("middle", 2e-3), ("high", 4e-3)):
                ending = f"-{updates}-{rate}-{seed}"
                same = [
                    attrs.evolve(stage, **alike)
                    for name, stage in rl.items()
                    if name.endswith(ending)
                ]
                assert len(same) == 8
                assert all(each == same[0] for each in same)
                assert (same[0].seed, same[0].off_policy_updates) == (seed, updates)
                assert getattr(same[0].optimizer, "lr", None) == figure
    for name in rl:
        after = stages[f"after-{name}"]
        assert isinstance(after, Eval)
        assert (after.start, after.against) == (name, "after-sft")
    critic = stages["critic"]
    assert isinstance(critic, FitCritic)
    assert critic.rollouts in rl


@pytest.mark.nightly
def test_a_corner_of_it_runs(tmp_path: Path) -> None:
    recipe = load_recipe(RECIPE, (), load_registry()).recipe
    first = "grpo-19-low-1"
    chosen = ["sft", "after-sft", first, f"after-{first}", "critic"]
    chosen += [name for name in recipe.stages if name.endswith("-1-high-3")]
    assert len(chosen) == 5 + 2 * 8
    shorter = [
        f"stages.{name}.{setting}={value}"
        for name, stage in recipe.stages.items()
        if name in chosen or isinstance(stage, Eval)  # what is compared asks the same
        for setting, value in SHORTER[type(stage)].items()
    ]
    result = start(RECIPE, out=tmp_path, overrides=shorter, only=chosen, echo=lambda _line: None)
    assert [name for name in recipe.stages if name in chosen] == list(result.stages)
    assert all(receipt["status"] == "finished" for receipt in result.stages.values())
