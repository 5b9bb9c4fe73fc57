"""Stages that do not learn from all they sample: recorded, counted, verified and resumed."""

from __future__ import annotations

import json

import attrs
import pytest

from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import go_on, start
from limite.core.recipe.runners import rl, rollouts
from limite.core.recipe.verify import verify_run
from limite.plugins.rollout_schedules.complete_episodes import CompleteEpisodesRun
from limite.plugins.rollout_schedules.fill_buffer import FillBuffer
from tests.core.recipe.test_verify import sealed_again

SCHEDULE = "stages.rl.rollout_schedule"


def quiet(_line):
    """Says nothing."""


@pytest.fixture
def run(finished, tmp_path):
    def again(schedule, *sets):
        overrides = [f'{SCHEDULE}="{schedule}"', "stages.rl.checkpoint_every=1", *sets]
        return start(finished.path, out=tmp_path, only=["rl"], overrides=overrides, echo=quiet)

    return again


def metrics_of(result):
    log = result.path / "stages/03-rl/metrics.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()]


def batch_of(result, step):
    return list(read_jsonl(result.path / f"stages/03-rl/rollouts/{step:06d}.jsonl.zst"))


def groups_in(lines):
    """How many groups have both right and wrong answers, by whether they were left out."""
    found = {}
    for line in lines:
        found.setdefault((line.get("dropped", False), line["group"]), set()).add(line["correct"])
    return {
        dropped: [len(outcomes) == 2 for (which, _), outcomes in found.items() if which == dropped]
        for dropped in (False, True)
    }


def test_oversampling_learns_from_those_that_differ_and_records_all(run):
    result = run("oversample", f"{SCHEDULE}.factor=2")
    for step, line in enumerate(metrics_of(result), start=1):
        lines = batch_of(result, step)
        groups = groups_in(lines)
        assert len(groups[False]) == line["schedule/kept_groups"] == 8
        assert len(groups[True]) == 8
        assert line["schedule/sampled_groups"] == 16
        # What has contrast is left out only where the batch is full of it.
        assert all(groups[False]) or not any(groups[True])
        right = [each["correct"] for each in lines]
        assert line["accuracy/sampled"] == pytest.approx(sum(right) / len(right))
        told = line["schedule/dropped_all_correct"] + line["schedule/dropped_all_wrong"]
        assert told == sum(not differs for differs in groups[True])
    assert verify_run(result.path).violations == []
    tokens = sum(
        len(each["completion_ids"]) for step in range(1, 5) for each in batch_of(result, step)
    )
    assert metrics_of(result)[-1]["tokens"] == tokens


def test_dynamic_sampling_fills_the_batch_or_says_why_not(run):
    result = run("dynamic", f"{SCHEDULE}.max_rounds=50")
    for step, line in enumerate(metrics_of(result), start=1):
        groups = groups_in(batch_of(result, step))
        assert groups[False] == [True] * 8
        assert line["schedule/sampled_groups"] == 8 * line["schedule/rounds"]
    assert verify_run(result.path).violations == []
    # It carries nothing over, so that no response is of an earlier policy than its batch.
    folder = result.path / "stages/03-rl"
    stale = [{**line, "policy_version": 0} for line in batch_of(result, 4)]
    write_jsonl(folder / "rollouts/000004.jsonl.zst", stale, sort_keys=True)
    sealed_again(folder)
    told = [each.message for each in verify_run(result.path).violations]
    assert len(told) == 1
    assert "is of policy version 0; its batch is of" in told[0]
    with pytest.raises(RunFailed, match="dynamic sampling found"):
        run("dynamic", f"{SCHEDULE}.max_rounds=1", "stages.rl.rollouts=2")


def test_a_skipped_update_leaves_the_weights_and_ends_in_the_flat_count(run):
    sets = ("stages.rl.rollouts=2", "stages.rl.stop_after_flat_batches=3")
    with pytest.raises(RunFailed, match="the last 3 batches had no group"):
        run("dynamic", f"{SCHEDULE}.max_rounds=1", f'{SCHEDULE}.at_max_rounds="skip-update"', *sets)


@pytest.mark.parametrize(
    ("schedule", "sets"),
    [
        ("fill-buffer", (f"{SCHEDULE}.discard=false", "stages.rl.max_policy_lag=2")),
        ("oversample", (f"{SCHEDULE}.factor=1.5",)),
    ],
)
def test_a_stopped_stage_goes_on_to_the_same_bits(
    run, schedule, sets, digest, monkeypatch, tmp_path
):
    whole = run(schedule, *sets)
    one_batch = rl.one_batch

    def stop_at_the_third(context, stage, rollouts, learner):
        if learner.session.clocks.step == 2:
            raise RunStopped("for the test", context.run.path)
        return one_batch(context, stage, rollouts, learner)

    monkeypatch.setattr(rl, "one_batch", stop_at_the_third)
    with pytest.raises(RunStopped):
        run(schedule, *sets)
    monkeypatch.undo()
    (stopped,) = (path for path in tmp_path.iterdir() if path != whole.path)
    go_on(stopped, echo=quiet)
    assert digest(stopped) == digest(whole.path)
    assert verify_run(stopped).violations == []
    if schedule != "fill-buffer":
        return
    assert any(line["schedule/lag_updates"] > 0 for line in metrics_of(whole))
    # What it carries over is older than its batch by no more than the recipe allows.
    folder = whole.path / "stages/03-rl"
    before = metrics_of(whole)[2]["optim/updates"]
    older = [{**line, "policy_version": before - 3} for line in batch_of(whole, 4)]
    write_jsonl(folder / "rollouts/000004.jsonl.zst", older, sort_keys=True)
    sealed_again(folder)
    told = [each.message for each in verify_run(whole.path).violations]
    assert len(told) == 1
    assert f"its batch is of {before}, and none may be of one before {before - 2}" in told[0]


def test_a_schedule_that_carries_over_what_is_too_old_ends_the_run(run, monkeypatch):
    """One that promises less than it does: its own check has let it through."""
    monkeypatch.setattr(FillBuffer, "most_batches_late", 0)
    with pytest.raises(LimiteError, match=r"version \d, with the learner at version \d: the lag"):
        run("fill-buffer", f"{SCHEDULE}.discard=false", "stages.rl.max_policy_lag=0")


def split(groups):
    """Every group in two halves."""
    halves = []
    for group in groups:
        middle = len(group.responses) // 2
        for part in (slice(middle), slice(middle, None)):
            names = ("responses", "rewards", "correct", "verdicts")
            halves.append(
                attrs.evolve(group, **{name: getattr(group, name)[part] for name in names})
            )
    return halves


def test_a_schedule_that_splits_groups_is_refused_before_any_update(run, monkeypatch, tmp_path):
    made = CompleteEpisodesRun.next

    def halved(self, episodes):
        batch = made(self, episodes)
        return attrs.evolve(batch, groups=split(batch.groups))

    monkeypatch.setattr(CompleteEpisodesRun, "next", halved)
    with pytest.raises(LimiteError, match=r"splits a group: .*\[0, 1, 2, 3\], where 8 in a row"):
        run("complete-episodes")
    (path,) = tmp_path.iterdir()
    assert not list(path.glob("stages/03-rl/*/*"))


def test_a_broken_record_is_refused_before_it_is_scored(run, monkeypatch, tmp_path):
    generate = rollouts.StepEpisodes.generate

    def relabelled(self, requests, **options):
        for place, response in generate(self, requests, **options):
            if response.finish_reason == "length":
                response = attrs.evolve(response, finish_reason="eos")
            yield place, response

    monkeypatch.setattr(rollouts.StepEpisodes, "generate", relabelled)
    with pytest.raises(LimiteError, match="its finish reason is 'eos' but its last token is"):
        run("complete-episodes")
    (path,) = tmp_path.iterdir()
    assert not list(path.glob("stages/03-rl/*/*"))
