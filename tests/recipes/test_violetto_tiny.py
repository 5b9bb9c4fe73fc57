"""The whole programme, small: its graph, and a run through it at a fraction of its length."""

from __future__ import annotations

from pathlib import Path

import pytest

from limite.core.discover import load_registry
from limite.core.recipe.engine import start
from limite.core.recipe.load import load_recipe
from limite.core.recipe.only import needed_by
from limite.core.recipe.stages import RL, SFT, Distill, Eval, FitCritic, Preference, Pretrain, Soup
from limite.core.recipe.verify import verify_run

RECIPE = Path(__file__).parents[2] / "recipes" / "violetto_tiny.py"
SHORTER = {
    Pretrain: {"steps": 3, "made.documents": 2000},
    SFT: {"steps": 3, "documents": 2000},
    Distill: {"steps": 10, "taught.count": 200, "taught.keep": "all"},
    RL: {"steps": 2, "groups": 24, "rollouts": 4, "off_policy_updates": 1},
    FitCritic: {"steps": 4, "batch": 8, "mixed_only": "false"},
    Preference: {"steps": 3, "batch": 4, "sampled.count": 60, "sampled.pairs": "all"},
    Soup: {},
    Eval: {"count": 40, "samples": 1},
}
LONGER = ("stages.base.steps=120", "stages.teacher.steps=60")


def test_it_has_every_stage_of_the_programme_and_measures_each() -> None:
    recipe = load_recipe(RECIPE, (), load_registry()).recipe
    stages = recipe.stages
    wanted = (
        ["pretrain"] * 4 + ["soup", "sft", "distill", "preference", "rl", "rl"]
        + ["sft"] * 3 + ["soup", "sft", "fit-critic", "rl"]
    )  # fmt: skip
    assert [stage.kind for stage in stages.values() if stage.kind != "eval"] == wanted
    for name, stage in stages.items():
        if stage.trains:
            assert isinstance(stages[f"after-{name}"], Eval)
            assert stages[f"after-{name}"].start == name
    last = stages["rl3"]
    assert isinstance(last, RL)
    assert len([name for name in last.problems.sources if not name.startswith("limite:")]) >= 8
    assert last.problems.files == ("limite:stories.jsonl",)
    assert "critic" in needed_by(recipe, "rl3")
    assert needed_by(recipe, "kd") == ["base-soup", "teacher"]
    assert set(needed_by(recipe, "dpo")) == {"kd", "teacher", "base"}
    assert needed_by(recipe, "rl1") == ["dpo"]
    assert set(needed_by(recipe, "sft-b")) == {"rl1", "rl2"}


@pytest.mark.nightly
def test_it_runs_through_all_of_it(tmp_path: Path) -> None:
    recipe = load_recipe(RECIPE, (), load_registry()).recipe
    shorter = [
        f"stages.{name}.{setting}={value}"
        for name, stage in recipe.stages.items()
        for setting, value in SHORTER[type(stage)].items()
    ]
    result = start(RECIPE, out=tmp_path, overrides=[*shorter, *LONGER], echo=lambda _line: None)
    assert list(result.stages) == list(recipe.stages)
    assert all(receipt["status"] == "finished" for receipt in result.stages.values())
    assert verify_run(result.path).violations == []
    compared = [name for name, each in result.results.items() if each.get("against")]
    assert len(compared) == len(result.results) - 1
