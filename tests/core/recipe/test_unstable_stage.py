"""Stages that end because they are unstable: what is handed on, kept, told, verified, resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.receipts import write_receipt
from limite.core.recipe.check import check_file
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.problem_source import held_out_problems
from limite.core.recipe.recipe import evaluation_seeds
from limite.core.recipe.report.read import read_run
from limite.core.recipe.report.remarks import remarks
from limite.core.recipe.runners import rl
from limite.core.recipe.runners.learner import Learner
from limite.core.recipe.runners.stability import Watch
from limite.core.recipe.tasting import drawn_problems
from limite.core.recipe.trained import trained
from limite.core.recipe.verify import verify_run
from tests.core.recipe.conftest import TINY, quiet

SMALL = (
    "stages.rl.groups=4",
    "stages.rl.rollouts=4",
    "stages.rl.steps=9",
    "stages.rl.stop_after_flat_batches=50",
    "stages.rl.checkpoint_every=2",
    "stages.rl.keep=1",
)
PROBE = '{problems={sources={"linear-equation"=1},difficulty=[0.0,0.0]},count=4,samples=2,every=1}'
STAGE = "stages/03-rl"


def overrides(rule: str) -> list[str]:
    return [*SMALL, f"stages.rl.stop_when={rule}"]


@pytest.fixture
def unhealthy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the weights of importance look bad at some steps, counted from 1."""
    measure, finish = Learner.measure, Learner.finish

    def at(steps: set[int]) -> None:
        def worse(learner: Learner, figures: Any) -> Any:
            if learner.session.clocks.step + 1 in steps:
                return attrs.evolve(figures, effective_sample_fraction=0.5)
            return figures

        def finished(learner: Learner, reading: Any, rows: Any) -> None:
            told = reading.told
            reading.told = lambda figures: told(worse(learner, figures))
            finish(learner, reading, rows)

        monkeypatch.setattr(Learner, "measure", lambda *given: worse(given[0], measure(*given)))
        monkeypatch.setattr(Learner, "finish", finished)

    return at


def checkpoints(result: RunResult) -> list[str]:
    return sorted(each.name for each in (result.path / STAGE / "checkpoints").iterdir())


def run(finished: RunResult, out: Path, rule: str, only: list[str]) -> RunResult:
    return start(finished.path, out=out, only=only, overrides=overrides(rule), echo=quiet)


def test_the_checkpoint_before_the_window_is_handed_on_and_a_cut_run_ends_the_same(
    finished: RunResult, tmp_path: Path, unhealthy: Any, digest: Any, monkeypatch: Any
) -> None:
    unhealthy({2, 5, 6, 7, 8, 9})
    rule = "{patience=3}"
    result = run(finished, tmp_path / "whole", rule, ["rl", "after"])
    receipt = result.stages["rl"]
    assert receipt["steps"] == 7
    assert receipt["hands_on_step"] == 4
    assert receipt["ended"] == {
        "rule": "unstable",
        "patience": 3,
        "triggers": [{"trigger": "ratio", "held": 3, "since_step": 5}],
    }
    # With 'keep' of 1 the newest stays, and what may have to be handed on.
    assert checkpoints(result) == ["step-000004", "step-000006"]
    assert result.stages["after"]["start"]["step"] == 4
    assert trained(result.path, "rl").step == 4
    assert verify_run(result.path).violations == []
    told = remarks(read_run(result.path))
    assert told[0] == (
        "rl: ended after step 7 of 9 as unstable: health gates failed since step 5; "
        "later stages begin with step 4"
    )
    one_batch = rl.one_batch

    def stopping(context: Any, *arguments: Any) -> Any:
        metrics = one_batch(context, *arguments)
        if arguments[2].session.clocks.step == 4:  # within the window, where no checkpoint is due
            context.stop.requested = True
        return metrics

    with monkeypatch.context() as patched:
        patched.setattr(rl, "one_batch", stopping)
        with pytest.raises(RunStopped):
            run(finished, tmp_path / "cut", rule, ["rl", "after"])
    resumed = go_on(next((tmp_path / "cut").iterdir()), echo=quiet)
    assert digest(resumed.path) == digest(result.path)
    assert resumed.stages["rl"]["ended"] == receipt["ended"]

    # Word of another end is found out.
    place = result.path / STAGE / "receipt.json"
    changes: list[tuple[dict[str, Any], str]] = [
        ({"hands_on_step": 6}, "hands on step 6, which is not before step 5"),
        ({"hands_on_step": 2}, "hands on step 2, of which there is no checkpoint"),
        ({"ended": None}, "does not say that the stage was unstable at step 7"),
        (
            {"ended": {"triggers": [{"trigger": "ratio", "held": 3, "since_step": 4}]}},
            "names other triggers than health.jsonl: ratio",
        ),
    ]
    for change, why in changes:
        changed = {key: value for key, value in receipt.items() if key != "sha256"} | change
        write_receipt(place, {key: value for key, value in changed.items() if value is not None})
        assert any(why in str(each) for each in verify_run(result.path).violations), why


def test_a_spell_that_passes_ends_nothing(
    finished: RunResult, tmp_path: Path, unhealthy: Any
) -> None:
    unhealthy({2, 3, 5, 6, 8, 9})
    result = run(finished, tmp_path, "{patience=3}", ["rl"])
    assert result.stages["rl"]["steps"] == 9
    assert "ended" not in result.stages["rl"]
    assert "hands_on_step" not in result.stages["rl"]
    assert verify_run(result.path).violations == []


def test_a_probe_that_falls_ends_the_stage(
    finished: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = Watch.rates
    seen = []

    def falling(watch: Watch, decoder: Any) -> list[float]:
        step = watch.session.clocks.step
        seen.append((step, rates(watch, decoder), rates(watch, decoder)))
        return [1.0] * 4 if step < 3 else [0.0, 0.0, 0.0, 0.5]

    monkeypatch.setattr(Watch, "rates", falling)
    result = run(finished, tmp_path, f"{{patience=2,probe={PROBE}}}", ["rl"])
    assert result.stages["rl"]["steps"] == 4
    assert result.stages["rl"]["hands_on_step"] == 2
    assert [each["trigger"] for each in result.stages["rl"]["ended"]["triggers"]] == [
        "unstable/held_out"
    ]
    # What it begins with is asked too, and the same policy always says the same.
    assert [step for step, _, _ in seen] == [0, 1, 2, 3, 4]
    assert all(first == second and len(first) == 4 for _, first, second in seen)
    lines = (result.path / STAGE / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["probe/pass_rate"] for line in lines] == [1.0, 1.0, 0.125, 0.125]
    assert verify_run(result.path).violations == []


def test_no_evaluation_asks_what_a_probe_does() -> None:
    registry = load_registry()
    loaded, plan = check_file(TINY, overrides(f"{{probe={PROBE}}}"), registry)
    stages: Any = loaded.recipe.stages
    asked = drawn_problems(loaded.recipe, "rl", stages["rl"].stop_when.probe, registry)
    for name in ("before", "after"):
        seeds = evaluation_seeds(loaded.recipe, name)
        evaluated = held_out_problems(stages[name], registry, seeds)
        assert not {each.id for each in asked} & {each.id for each in evaluated}
    without, _ = check_file(TINY, SMALL, registry), None
    more = plan.stages[2].sampled_tokens - without[1].stages[2].sampled_tokens
    assert more == (1 + 9) * 4 * 2 * 6


@pytest.mark.parametrize(
    ("rule", "more", "why"),
    [
        ("{patience=0}", (), "stop_when.patience: must be >= 1"),
        ("{patiense=2}", (), "did you mean 'patience'"),
        ("{natural_end=20}", (), "stop_when.natural_end: must be <= 1.0"),
        ("{}", ('stages.rl.health.action="stop"',), "would not come to it"),
        ('{probe={problems={sources={"gcdd"=1}}}}', (), "did you mean 'gcd'"),
        (
            '{probe={problems={sources={"linear-equation"=1},difficulty=[0.0,0.0]},count=5000}}',
            (),
            "distinct problems found in the 10% held out",
        ),
    ],
)
def test_a_rule_that_cannot_work_is_told(rule: str, more: tuple[str, ...], why: str) -> None:
    with pytest.raises(LimiteError) as caught:
        check_file(TINY, [*overrides(rule), *more], load_registry())
    assert why in str(caught.value)
