from __future__ import annotations

import json
import re
import shutil

import pytest

from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import read_jsonl
from limite.core.recipe.engine import go_on, start
from limite.core.rollout.store import read_groups
from tests.core.recipe.conftest import pages


def test_a_run_leaves_what_it_promises(finished):
    run = finished.path
    assert re.fullmatch(r"tiny-[0-9a-f]{4}", run.name)
    assert {path.name for path in run.iterdir()} >= {
        "recipe.toml",
        "recipe.source.toml",
        "receipt.json",
        "stages",
        "report.html",
        "report.png",
        "log.txt",
    }
    assert sorted(path.name for path in (run / "stages").iterdir()) == [
        "01-sft",
        "02-before",
        "03-rl",
        "04-after",
    ]
    rl = run / "stages" / "03-rl"
    assert {path.name for path in rl.iterdir()} == {
        "metrics.jsonl",
        "health.jsonl",
        "receipt.json",
        "rollouts",
        "checkpoints",
    }
    assert sorted(path.name for path in (rl / "rollouts").iterdir()) == [
        f"{step:06d}.jsonl.zst" for step in (1, 2, 3, 4)
    ]
    assert sorted(path.name for path in (rl / "checkpoints").iterdir()) == [
        "step-000002",
        "step-000004",
    ]
    steps = [json.loads(line)["step"] for line in (rl / "metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3, 4]
    assert list(finished.stages) == ["sft", "before", "rl", "after"]
    assert list(finished.results) == ["before", "after"]
    assert finished.results["after"]["against"]["stage"] == "before"
    json.dumps(finished.plain())


def test_reinforcement_really_updates_here(finished):
    """Else the tests of this folder would compare runs in which nothing happens."""
    assert finished.stages["rl"]["updates"] > 0
    assert finished.stages["sft"]["updates"] == finished.stages["sft"]["steps"]


def test_the_same_recipe_gives_the_same_bytes(finished, run_tiny, digest, tmp_path):
    again = run_tiny(tmp_path)
    assert digest(again.path) == digest(finished.path)


def test_another_seed_gives_other_weights(finished, run_tiny, digest, tmp_path):
    other = run_tiny(tmp_path, overrides=["seed=6"], only=["sft"])
    mine, theirs = digest(other.path), digest(finished.path)
    weights = [name for name in mine if name.endswith("model.safetensors")]
    assert weights
    assert all(mine[name] != theirs[name] for name in weights)


def test_rollout_records_agree_with_the_learner(finished):
    """At sampling time the learner is the policy: importance weights are 1 to rounding."""
    lines = (finished.path / "stages/03-rl/health.jsonl").read_text().splitlines()
    gates = [json.loads(line) for line in lines]
    assert len(gates) == 3 * 4
    assert all(gate["passed"] for gate in gates)
    metrics = (finished.path / "stages/03-rl/metrics.jsonl").read_text().splitlines()
    for line in metrics:
        ratio = json.loads(line)
        # Sampler and learner sum in different orders: 2e-5 nats in float32.
        assert abs(ratio["ratio/max_ratio"] - 1) < 5e-5
        assert abs(ratio["ratio/min_ratio"] - 1) < 5e-5


def test_held_out_problems_are_never_trained_on(finished):
    asked = {
        line["problem"]["problem"]
        for place in (finished.path / "stages/03-rl/rollouts").iterdir()
        for line in read_jsonl(place)
    }
    held_out = {entry["id"] for entry in finished.results["after"]["per_problem"]}
    trained = {
        group.problem.id
        for place in (finished.path / "stages/03-rl/rollouts").iterdir()
        for group in read_groups(read_jsonl(place))
    }
    assert len(asked) >= 8
    assert len(held_out) == 8
    assert not held_out & trained


def test_a_stage_runs_again_alone(finished, digest, tmp_path):
    again = start(finished.path, out=tmp_path, only=["rl", "after"], echo=lambda _line: None)
    assert digest(again.path) == digest(finished.path)
    other = start(
        finished.path,
        out=tmp_path,
        only=["rl"],
        overrides=["stages.rl.optimizer.lr=2e-3"],
        echo=lambda _line: None,
    )
    # What was measured of the old weights says nothing of the new ones.
    assert list(other.stages) == ["sft", "before", "rl"]
    assert list(other.results) == ["before"]
    assert not (other.path / "stages/04-after").exists()
    name = "stages/01-sft/checkpoints/step-000060/model.safetensors"
    assert digest(other.path)[name] == digest(finished.path)[name]
    name = "stages/03-rl/checkpoints/step-000004/model.safetensors"
    assert digest(other.path)[name] != digest(finished.path)[name]


@pytest.mark.parametrize(
    ("only", "overrides", "told"),
    [
        (["rll"], [], r"no stage 'rll'; did you mean 'rl'\?"),
        (["rl"], ["stages.sft.steps=61"], r"stages\.sft\.steps: 60 -> 61"),
        (["rl"], ["model.width=32", "model.heads=4"], r"model\.width: 16 -> 32"),
        ([], [], "say which stages to run again with --only"),
    ],
)
def test_running_stages_again_refuses_what_does_not_fit(finished, tmp_path, only, overrides, told):
    with pytest.raises(LimiteError, match=told):
        start(finished.path, out=tmp_path, only=only, overrides=overrides)
    assert list(tmp_path.iterdir()) == []


def test_only_on_a_recipe_needs_what_its_stages_go_on_from(run_tiny, tmp_path):
    with pytest.raises(LimiteError, match="goes on from 'sft', which would not run"):
        run_tiny(tmp_path, only=["rl"])
    with pytest.raises(LimiteError, match="goes on from 'before', which would not run"):
        run_tiny(tmp_path, only=["sft", "rl", "after"])
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_exists_is_never_overwritten(finished, run_tiny, digest, tmp_path):
    shutil.copytree(finished.path, tmp_path / "mine")
    before = digest(tmp_path / "mine")
    with pytest.raises(LimiteError, match=r"mine.*limite resume"):
        run_tiny(tmp_path, name="mine")
    assert digest(tmp_path / "mine") == before


def test_resuming_a_finished_run_changes_nothing(finished, digest, tmp_path):
    copy = tmp_path / finished.path.name
    shutil.copytree(finished.path, copy)
    said: list[str] = []
    again = go_on(copy, echo=said.append)
    assert digest(copy) == digest(finished.path)
    assert again.stages == finished.stages
    assert said == [f"{name}: finished before" for name in finished.stages]


def test_resuming_refuses_another_recipe_or_version(finished, tmp_path):
    copy = tmp_path / "changed"
    shutil.copytree(finished.path, copy)
    recipe = copy / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("steps = 60", "steps = 61"))
    with pytest.raises(LimiteError, match=r"recipe\.stages\.sft\.steps: 60 -> 61"):
        go_on(copy)
    copy = tmp_path / "upgraded"
    shutil.copytree(finished.path, copy)
    receipt = json.loads((copy / "receipt.json").read_text())
    receipt["packages"]["torch"] = "1.0.0"
    receipt["limite_sha256"] = "0" * 64
    (copy / "receipt.json").write_text(json.dumps(receipt))
    with pytest.raises(LimiteError, match=r"packages\.torch: \"1\.0\.0\" -> ") as refused:
        go_on(copy)
    assert "limite_sha256: " in str(refused.value)


def test_resuming_on_another_machine_is_recorded(finished, tmp_path):
    copy = tmp_path / "moved"
    shutil.copytree(finished.path, copy)
    receipt = json.loads((copy / "receipt.json").read_text())
    receipt["hardware"]["cpu"] = "another"
    (copy / "receipt.json").write_text(json.dumps(receipt))
    said: list[str] = []
    go_on(copy, echo=said.append)
    assert any("which may change bits: hardware.cpu" in line for line in said)
    (noted,) = json.loads((copy / "receipt.json").read_text())["resumed"]
    assert noted["differences"][0].startswith('hardware.cpu: "another" -> ')


def test_changed_weights_are_noticed(finished, tmp_path):
    copy = tmp_path / "changed"
    shutil.copytree(finished.path, copy)
    shutil.rmtree(copy / "stages/03-rl")
    shutil.rmtree(copy / "stages/04-after")
    weights = copy / "stages/01-sft/checkpoints/step-000060/model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(LimiteError, match="step-000060"):
        go_on(copy, echo=lambda _line: None)


def test_a_run_without_any_signal_ends_and_says_why(run_tiny, tmp_path):
    """Unreadable answers everywhere: one token is too short for a marker and a number."""
    with pages(), pytest.raises(RunFailed, match="nothing to learn from"):
        run_tiny(
            tmp_path,
            overrides=[
                "stages.rl.max_tokens=1",
                "stages.rl.stop_after_flat_batches=2",
                "stages.sft.steps=2",
            ],
        )
    (run,) = tmp_path.iterdir()
    receipt = json.loads((run / "stages/03-rl/receipt.json").read_text())
    assert receipt["status"] == "failed"
    assert "nothing to learn from" in receipt["error"]
    assert (run / "report.html").exists()
    assert not (run / "stages/04-after").exists()
    with pytest.raises(RunFailed, match="nothing to learn from"):
        go_on(run, echo=lambda _line: None)
    assert not (run / "stages/04-after").exists()


def test_a_stage_that_made_no_update_is_not_called_healthy(run_tiny, tmp_path):
    said: list[str] = []
    result = run_tiny(
        tmp_path,
        only=["sft", "rl"],
        overrides=["stages.rl.max_tokens=1", "stages.rl.steps=1", "stages.sft.steps=2"],
        echo=said.append,
    )
    assert result.stages["rl"]["health"] == "no update made"
    assert any("made no update: no group had both right and wrong" in line for line in said)


def test_a_damaged_record_is_told_before_training_goes_on(finished, tmp_path):
    copy = tmp_path / "damaged"
    shutil.copytree(finished.path, copy)
    shutil.rmtree(copy / "stages/04-after")
    (copy / "stages/03-rl/receipt.json").unlink()
    shutil.rmtree(copy / "stages/03-rl/checkpoints/step-000004")
    place = copy / "stages/03-rl/rollouts/000002.jsonl.zst"
    place.write_bytes(place.read_bytes()[:10])
    with pytest.raises(LimiteError, match=r"000002.*remove .*03-rl to run the stage again"):
        go_on(copy, echo=lambda _line: None)
    place.unlink()
    with pytest.raises(LimiteError, match=r"000002.*remove .*03-rl to run the stage again"):
        go_on(copy, echo=lambda _line: None)


@pytest.mark.parametrize(
    ("only", "told"),
    [
        (["sft", "after"], "goes on from 'rl', which goes back to 'sft'.* add --only rl"),
        (["sft", "rl", "after"], "goes on from 'before', which goes back to 'sft'"),
    ],
)
def test_a_stage_between_stages_that_run_again_must_run_again(finished, tmp_path, only, told):
    with pytest.raises(LimiteError, match=told):
        start(finished.path, out=tmp_path, only=only)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("file", ["02-before/results.json", "03-rl/rollouts/000002.jsonl.zst"])
def test_a_stage_refuses_to_build_on_files_that_changed(finished, tmp_path, file):
    copy = tmp_path / "changed"
    shutil.copytree(finished.path, copy)
    shutil.rmtree(copy / "stages/04-after")
    place = copy / "stages" / file
    place.write_bytes(place.read_bytes()[:-1])
    with pytest.raises(LimiteError, match=f"'after' builds on .*{place.name}"):
        go_on(copy, echo=lambda _line: None)


def test_a_checkpoint_of_another_recipe_is_refused(finished, run_tiny, tmp_path):
    other = run_tiny(tmp_path, only=["sft"], overrides=["stages.sft.steps=61"])
    shutil.rmtree(other.path / "stages/01-sft")
    shutil.copytree(finished.path / "stages/01-sft", other.path / "stages/01-sft")
    (other.path / "stages/01-sft/receipt.json").unlink()
    with pytest.raises(LimiteError, match="not a checkpoint of this stage of this run"):
        go_on(other.path, echo=lambda _line: None)


@pytest.mark.parametrize(("action", "updates"), [("warn", True), ("skip", False)])
def test_a_failed_gate_warns_or_skips(finished, tmp_path, action, updates):
    """No batch has a mean weight of at least 1.5, so every batch fails."""
    said: list[str] = []
    result = start(
        finished.path,
        out=tmp_path,
        only=["rl"],
        overrides=[f"stages.rl.health.action={action}", "stages.rl.health.mean_weight_low=1.5"],
        echo=said.append,
    )
    assert (result.stages["rl"]["updates"] > 0) == updates
    assert result.stages["rl"]["health"] == "1 of 3 gates failed, at 4 steps"
    warnings = [line for line in said if line.startswith("warning: stage 'rl', step 1:")]
    assert len(warnings) == 1
    assert "ratio/mean_weight is " in warnings[0]
    assert ("the batch is skipped" in warnings[0]) != updates


def test_a_failed_gate_can_stop_the_run(finished, tmp_path):
    with pytest.raises(RunFailed, match=r"before the update of step 1: ratio/mean_weight is "):
        start(
            finished.path,
            out=tmp_path,
            only=["rl"],
            overrides=["stages.rl.health.action=stop", "stages.rl.health.mean_weight_low=1.5"],
            echo=lambda _line: None,
        )
