"""The matched comparison: what it compares, and a run through it at a fraction of its length."""

from __future__ import annotations

from pathlib import Path

import pytest

from limite import DAPO, Global, GroupAdvantage, Simplicial, Uniform
from limite.core.discover import load_registry
from limite.core.recipe import engine
from limite.core.recipe.matched.check import LoadedComparison, check_any
from limite.core.recipe.matched.run import MatchedResult, start
from limite.core.recipe.matched.verify import verify_comparison
from limite.core.recipe.stages import RL

RECIPE = Path(__file__).parents[2] / "recipes" / "matched_tiny.py"
SHORTER = (
    "stages.sft.steps=2", "stages.sft.documents=64", "stages.sft.batch=4",
    "stages.rl.steps=1", "stages.rl.groups=4", "stages.rl.rollouts=2",
    "stages.after-sft.count=20", "stages.after-sft.samples=1",
    "stages.after-rl.count=20", "stages.after-rl.samples=1",
)  # fmt: skip


def test_it_compares_attention_on_the_terms_of_the_larger_comparison() -> None:
    found = check_any(RECIPE, ["seeds=[1]", "stages.sft.documents=64"], load_registry())
    assert isinstance(found, LoadedComparison)
    ordinary, simplicial = found.matched.variants.values()
    assert ordinary.model.attention == Global(rotary=True)  # type: ignore[union-attr]
    grown = simplicial.model.attention  # type: ignore[union-attr]
    assert isinstance(grown, Simplicial)
    assert grown.other == Global(rotary=True)
    assert [grown.is_simplicial(layer) for layer in range(4)] == [False, False, False, True]
    rl = ordinary.stages["rl"]
    assert isinstance(rl, RL)
    assert rl.objective == DAPO(eps_low=0.2, eps_high=0.2)
    assert rl.objective.beta == 0.0
    assert rl.advantage == GroupAdvantage(scale="std")
    assert (rl.groups, rl.rollouts, rl.off_policy_updates, rl.clip_norm) == (16, 4, 0, 1.0)
    assert (rl.max_policy_lag, rl.rollout_prefetch_schedule) == (1, "after-update")
    assert rl.curriculum == Uniform()
    assert found.plans["ordinary"].parameters < found.plans["simplicial"].parameters


def test_it_runs_to_its_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "write_report", lambda path: path / "report.html")
    found = start(RECIPE, overrides=["seeds=[1]", *SHORTER], out=tmp_path, echo=lambda _line: None)
    assert isinstance(found, MatchedResult)
    (pair,) = found.comparison["measured"]["after-rl"]["comparisons"]
    assert (pair["before"], pair["after"]) == ("ordinary", "simplicial")
    assert found.report.stat().st_size > 10_000
    assert verify_comparison(found.path).violations == []


@pytest.mark.nightly
def test_every_seed_of_it_is_sound() -> None:
    found = check_any(RECIPE, (), load_registry())
    assert isinstance(found, LoadedComparison)
    assert [member.seed for member, _ in found.members.values()] == [1, 1, 2, 2, 3, 3]
