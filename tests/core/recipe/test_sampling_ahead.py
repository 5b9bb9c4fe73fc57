"""Sampling ahead of the learner: the same bits with and without overlap, stopped or killed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from limite.core.actor.queue import Abandoned
from limite.core.checkpoint.state import decode
from limite.core.errors import LimiteError, RunFailed, SettingsError
from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import go_on, start
from limite.core.recipe.runners import rl, rollouts
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.verify import verify_run

HERE = Path(__file__).parent
AHEAD = ("rollout_prefetch_schedule='before-update'", "off_policy_updates=0", "rollouts=16")
TWICE = ("rollout_prefetch_schedule='before-update'", "max_policy_lag=2", "rollouts=16")
CARRY = ("rollout_schedule='fill-buffer'", "rollout_schedule.discard=false", "max_policy_lag=4")
OVERLAP = ("overlap_actor_learner=true",)


def quiet(_line):
    """Says nothing."""


@pytest.fixture(scope="module")
def taught(tmp_path_factory, tiny):
    """A run whose first stage is finished, for others to begin with."""
    return start(tiny, out=tmp_path_factory.mktemp("taught"), only=["sft"], echo=quiet).path


def runner(taught, out):
    def again(*sets, name=None, every=1):
        overrides = [f"stages.rl.{each}" for each in (*sets, f"checkpoint_every={every}")]
        found = start(taught, out=out, name=name, only=["rl"], overrides=overrides, echo=quiet)
        return found.path

    again.out = out
    return again


@pytest.fixture
def run(taught, tmp_path):
    return runner(taught, tmp_path)


@pytest.fixture(scope="module")
def ahead(taught, tmp_path_factory):
    """An undisturbed run that samples ahead without overlap."""
    return runner(taught, tmp_path_factory.mktemp("ahead"))(*AHEAD)


def metrics_of(path):
    return list(read_jsonl(path / "stages/03-rl/metrics.jsonl"))


def state_of(path, step):
    place = path / f"stages/03-rl/checkpoints/step-{step:06d}"
    return json.loads((place / "state.json").read_text()), place


def stopped_in(monkeypatch, run, step, *sets, name):
    """A run that is asked to stop while the update of ``step`` is made."""
    update = TrainingSession.update

    def stopping(session, loss):
        if session.clocks.step == step:
            session.context.stop.request()
        return update(session, loss)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingSession, "update", stopping)
        with pytest.raises(RunStopped):
            run(*sets, name=name, every=50)
    return run.out / name


def killed_in(monkeypatch, run, step, *sets, name):
    """A run that dies before ``step`` with nothing but its checkpoints."""
    one_batch = rl.one_batch

    def dying(context, stage, batches, learner):
        if learner.session.clocks.step == step:
            raise RunStopped("for the test", context.run.path)
        return one_batch(context, stage, batches, learner)

    with monkeypatch.context() as patch:
        patch.setattr(rl, "one_batch", dying)
        with pytest.raises(RunStopped):
            run(*sets, name=name)
    return run.out / name


def same(digest, left, right):
    """Equal but for checkpoints that one of them did not have to write."""
    one, other = digest(left), digest(right)
    assert all(one[key] == other[key] for key in one.keys() & other.keys())
    assert all("/checkpoints/" in key for key in one.keys() ^ other.keys())
    last = [key for key in one.keys() & other.keys() if "/checkpoints/step-000004/model" in key]
    assert last


@pytest.mark.parametrize("sets", [AHEAD, (*TWICE, *CARRY)], ids=["complete", "carry-over"])
def test_the_same_bits_with_overlap_without_and_gone_on_with(ahead, run, digest, monkeypatch, sets):
    """The first batch is flat in one of them: the next is then of lag 0."""
    plain = ahead if sets is AHEAD else run(*sets, name="plain")
    assert verify_run(plain).violations == []
    updates = [line["optim/updates"] for line in metrics_of(plain)]
    lags = [line["policy/lag_updates"] for line in metrics_of(plain)]
    assert lags == [b - a for a, b in zip([0, 0, *updates], [0, *updates], strict=False)][:4]
    assert max(lags) > 0
    for line in metrics_of(plain):
        told = line["policy/learner_version"] - line["policy/source_version"]
        assert told == line["policy/lag_updates"]
    if sets is AHEAD:
        killed = killed_in(monkeypatch, run, 2, *sets, *OVERLAP, name="killed")
        state, place = state_of(killed, 2)
        groups = state["stage"]["pending"]["batch"]["batch"]["groups"]
        assert groups
        assert "completion_ids" not in json.dumps(groups)
        assert (place / "pending_batch.safetensors").is_file()
        go_on(killed, echo=quiet)
        assert digest(killed) == digest(plain)
    stopped = stopped_in(monkeypatch, run, 2, *sets, *OVERLAP, name="stopped")
    state, place = state_of(stopped, 3)
    assert state["stage"]["pending"]["batch"] is None
    assert state["stage"]["pending"]["version"] == updates[1]
    assert state["clocks"]["updates"] == updates[2] > updates[1]
    assert (place / "source_policy.safetensors").is_file()
    go_on(stopped, echo=quiet)
    same(digest, stopped, plain)


def test_a_stop_ends_what_is_sampled_ahead_in_its_middle(ahead, run, digest, monkeypatch):
    sample = rollouts.Rollouts.sample
    ended = []

    def slow(self, prompts, snapshot, abandoned):
        while prompts == (3,) and not abandoned():
            time.sleep(0.005)
        try:
            return sample(self, prompts, snapshot, abandoned)
        except Abandoned:
            ended.append(prompts)
            raise

    with monkeypatch.context() as patch:
        patch.setattr(rollouts.Rollouts, "sample", slow)
        stopped = stopped_in(patch, run, 2, *AHEAD, *OVERLAP, name="stopped")
    assert ended == [(3,)]
    go_on(stopped, echo=quiet)
    same(digest, stopped, ahead)


def declared(path, *sets):
    """Goes on with other settings, as the refusal says how."""
    overrides = [f"stages.rl.{each}" for each in sets]
    with pytest.raises(LimiteError) as refused:
        go_on(path, overrides=overrides, echo=quiet)
    (token,) = re.findall(r"--declare (\S+)", str(refused.value))
    go_on(path, overrides=overrides, declared=[token], echo=quiet)
    return token


def test_a_batch_sampled_ahead_is_used_once_when_turns_are_changed(ahead, run, monkeypatch):
    plain, changed = ahead, killed_in(monkeypatch, run, 2, *AHEAD, *OVERLAP, name="changed")
    on_demand = ("rollout_prefetch_schedule='after-update'", "overlap_actor_learner=false")
    sampled = []
    sample = rollouts.Rollouts.sample
    monkeypatch.setattr(
        rollouts.Rollouts,
        "sample",
        lambda self, prompts, *rest: sampled.append(prompts) or sample(self, prompts, *rest),
    )
    assert declared(changed, *on_demand).startswith("turns=rl@2/")
    assert sampled == [(3,)]
    third = "stages/03-rl/rollouts/000003.jsonl.zst"
    assert (changed / third).read_bytes() == (plain / third).read_bytes()
    legacy, last = metrics_of(changed)[2:]
    assert legacy["policy/lag_updates"] == 1
    assert legacy["loss"] == metrics_of(plain)[2]["loss"]
    assert "policy/lag_updates" not in last
    (version,) = {
        line["policy_version"]
        for line in read_jsonl(changed / "stages/03-rl/rollouts/000004.jsonl.zst")
    }
    assert version == legacy["optim/updates"] > metrics_of(plain)[3]["policy/source_version"]
    assert verify_run(changed).violations == []


def test_other_penalties_drop_the_batch_and_go_back_to_before_it(run, monkeypatch):
    changed = killed_in(monkeypatch, run, 2, *AHEAD, *OVERLAP, name="changed")
    state, _ = state_of(changed, 2)
    restored = []
    restore = rollouts.Rollouts.restore
    monkeypatch.setattr(
        rollouts.Rollouts,
        "restore",
        lambda self, state: restored.append(state) or restore(self, state),
    )
    declared(changed, "repetition_penalty=0.5", "repetition={}")
    pending = state["stage"]["pending"]
    assert restored == [decode(pending["before"])]
    assert pending["before"]["curriculum"] != state["stage"]["curriculum"]
    assert metrics_of(changed)[2]["policy/lag_updates"] == 0
    assert verify_run(changed).violations == []


def test_the_default_samples_on_demand_and_says_nothing_of_lag(run):
    path = run(name="default")
    assert not any(key.startswith("policy/") for line in metrics_of(path) for key in line)
    assert "pending" not in state_of(path, 3)[0]["stage"]


@pytest.mark.nightly
def test_a_killed_run_that_samples_ahead_goes_on_to_the_same_bits(tiny, tmp_path):
    text = tiny.read_text()
    recipe = tmp_path / "ahead.toml"
    sets = 'rollout_prefetch_schedule = "before-update"\noverlap_actor_learner = true\n'
    settings = f"off_policy_updates = 1\nmax_policy_lag = 2\n{sets}"
    text = text.replace("off_policy_updates = 1\n", settings)
    before, after = text.index("[stages.before]"), text.index("[stages.rl]")
    text = text[:before] + text[after : text.index("[stages.after]")]
    recipe.write_text(text.replace("steps = 60", "steps = 10"))
    done = subprocess.run(
        [sys.executable, HERE / "killed_runs.py", recipe, tmp_path, "5", "8"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert [run["differs"] for run in told["runs"]] == [[]] * 8


def test_what_does_not_go_together_is_told_at_once(tiny, tmp_path):
    def mistakes(*sets):
        overrides = [f"stages.rl.{each}" for each in sets]
        with pytest.raises(SettingsError) as refused:
            start(tiny, out=tmp_path, overrides=overrides, echo=quiet)
        return str(refused.value)

    assert "stages.rl.overlap_actor_learner: needs rollout_prefetch_schedule" in mistakes(*OVERLAP)
    told = mistakes(AHEAD[0], "max_policy_lag=1")
    assert "stages.rl.max_policy_lag: must be at least 2 with" in told
    told = mistakes(*AHEAD, *CARRY, "max_policy_lag=1")
    assert "stages.rl.max_policy_lag: must be at least 2 with rollout_prefetch_schedule" in told
    assert "and with this 'rollout_schedule', whose groups may come 1 batch late, of 1" in told
    late = "rollout_schedule.late_batches=3"
    told = mistakes(*CARRY, late, "max_policy_lag=5")  # of two updates each
    assert "max_policy_lag: must be at least 6 with this 'rollout_schedule', whose groups" in told
    assert "may come 3 batches late, of 2 updates each, got 5" in told
    assert "did you mean 'before-update'" in mistakes("rollout_prefetch_schedule='before_update'")
    assert not list(tmp_path.iterdir())


def test_an_error_while_sampling_ahead_ends_the_run_and_can_be_gone_on_from(
    ahead, run, digest, monkeypatch, tmp_path
):
    scored = rollouts.scored
    batches = []

    def failing(stage, sampled):
        batches.append(sampled)
        if len(batches) == 3:
            raise RunFailed("the verifier is gone")
        return scored(stage, sampled)

    with monkeypatch.context() as patch:
        patch.setattr(rollouts, "scored", failing)
        with pytest.raises(RunFailed, match="the verifier is gone"):
            run(*AHEAD, *OVERLAP, name="failed")
    failed = tmp_path / "failed"
    go_on(failed, echo=quiet)
    assert digest(failed) == digest(ahead)


def test_verify_holds_a_batch_to_the_lag_that_the_recipe_allows(ahead, tmp_path):
    plain = ahead

    def violations(change):
        path = shutil.copytree(plain, tmp_path / "changed")
        log = path / "stages/03-rl/metrics.jsonl"
        lines = list(read_jsonl(log))
        change(lines)
        write_jsonl(log, lines, sort_keys=False)
        found = [str(each) for each in verify_run(path).violations]
        shutil.rmtree(path)
        return "\n".join(found)

    last = metrics_of(plain)[-1]
    assert last["policy/lag_updates"] == 1

    def older(lines):
        lines[-1]["policy/lag_updates"] = 2
        lines[-1]["policy/source_version"] -= 1

    def without(lines):
        for key in ("lag_updates", "source_version", "learner_version"):
            del lines[-1][f"policy/{key}"]

    def relabelled(lines):
        lines[-1]["policy/source_version"] += 1

    assert "metrics.jsonl:4: a lag of 2 updates, not 0 to 1" in violations(older)
    version = last["policy/source_version"]
    assert f"is of policy version {version}; its batch is of {version + 1}" in violations(without)
    assert f"policy version {version + 1} with the learner at {version + 1}" in violations(
        relabelled
    )
