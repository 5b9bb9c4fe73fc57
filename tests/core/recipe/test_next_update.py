"""Next-update equality: whatever a stage has just been through, it goes on to the same bits.

Compared are weights, moments, every sampled token with its log-probability, and the metrics of the
whole stage. Responses that a schedule carries over are in ``test_rollout_schedules``, a critic in
``test_critic_stages``, held-out pairs and traces in ``test_preference`` and ``test_distill``.
"""

from __future__ import annotations

import json
import random

import numpy
import pytest
import torch

from limite.core.checkpoint.read import read_checkpoint
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import go_on, start
from limite.core.recipe.runners import rl, sft
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.verify import verify_run

SFT = ["stages.sft.steps=60", "stages.sft.batch=20"]
RL = [
    "stages.rl.steps=7",
    "stages.rl.groups=2",
    "stages.rl.rollouts=4",
    "stages.rl.max_tokens=10",
    "stages.rl.temperature=1.1",
    "stages.rl.repetition={min_words=2,window_words=1,threshold=0.9,every_tokens=3}",
    "stages.rl.repetition_penalty=0.5",
    "stages.rl.overlong={buffer_tokens=2,factor=0.5}",
    "stages.rl.stop_when={patience=9,probe={problems={sources={gcd=1}},count=2,every=2}}",
    "stages.rl.checkpoint_every=1",
    "stages.rl.keep=9",
]


def quiet(_line):
    """Says nothing."""


def other_global_state():
    """A new process: nothing that is drawn may come from what no checkpoint holds."""
    torch.manual_seed(1)
    random.seed(2)
    numpy.random.seed(3)


@pytest.fixture(scope="module")
def begin(tiny, tmp_path_factory):
    """Runs the stage of reinforcement, from the same supervised weights each time."""
    out = tmp_path_factory.mktemp("sft")
    taught = start(tiny, out=out, only=["sft"], overrides=SFT, echo=quiet).path

    def run(out):
        return start(taught, out=out, name="run", only=["rl"], overrides=RL, echo=quiet).path

    return run


@pytest.fixture(scope="module")
def whole(begin, tmp_path_factory):
    return begin(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def lines(whole):
    log = whole / "stages/03-rl/metrics.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()]


def flat_step(lines):
    """The first batch that had nothing to learn from, with others before and after it."""
    before = 0
    for line in lines[:-1]:
        if line["optim/updates"] == before > 0:
            return line["step"]
        before = line["optim/updates"]
    raise AssertionError("every batch had something to learn from")


def repetitive_step(lines):
    return next(line["step"] for line in lines[:-1] if line.get("ending/repetitive_share"))


def measured_step(lines):
    return next(line["step"] for line in lines if "probe/pass_rate" in line)


def after_batch(step_of):
    """Ends the run before the batch after the step that ``step_of`` picks."""

    def halt(patch, lines):
        one_batch, step = rl.one_batch, step_of(lines)

        def stop(context, stage, rollouts, learner):
            if learner.session.clocks.step == step:
                raise KeyboardInterrupt
            return one_batch(context, stage, rollouts, learner)

        patch.setattr(rl, "one_batch", stop)

    return halt


def between_updates(patch, lines):
    """Ends the run when the first of a batch's two updates has been made."""
    made = TrainingSession.update
    counts = [line["optim/updates"] for line in lines]
    step = next(step for step in range(3, len(counts)) if counts[step] == counts[step - 1] + 2)

    def stop(session, loss):
        told = made(session, loss)
        if session.context.name == "rl" and session.clocks.step == step:
            raise KeyboardInterrupt
        return told

    patch.setattr(TrainingSession, "update", stop)


@pytest.mark.parametrize(
    "halt",
    [
        after_batch(flat_step),
        after_batch(measured_step),
        after_batch(repetitive_step),
        between_updates,
    ],
    ids=["flat-batch", "evaluation", "repetition", "between-updates"],
)
def test_the_next_update_is_that_of_a_run_that_never_stopped(
    halt, whole, lines, begin, tmp_path, digest
):
    with pytest.MonkeyPatch.context() as patch:
        halt(patch, lines)
        with pytest.raises(RunStopped):
            begin(tmp_path)
    stopped = tmp_path / "run"
    assert digest(stopped) != digest(whole)
    other_global_state()
    go_on(stopped, echo=quiet)
    assert digest(stopped) == digest(whole)
    assert verify_run(stopped).violations == []


def test_a_batch_without_signal_moves_nothing_but_its_counters(whole, lines):
    step = flat_step(lines)
    assert lines[step - 2]["optim/updates"] > 0
    folder = whole / "stages/03-rl/checkpoints"
    before, after = (read_checkpoint(folder / f"step-{number:06d}") for number in (step - 1, step))
    for payload in ("model", "optimizer"):
        was, now = before.payloads[payload], after.payloads[payload]
        assert was.keys() == now.keys()
        assert all(torch.equal(was[name], now[name]) for name in was)
    assert before.state["optimizer"] == after.state["optimizer"]
    was, now = before.state["clocks"], after.state["clocks"]
    assert now["updates"] == was["updates"]
    assert (now["step"], now["flat_batches"]) == (step, was["flat_batches"] + 1)
    assert now["tokens"] > was["tokens"]
    assert "loss" not in lines[step - 1]
    assert "optim/lr" not in lines[step - 1]


def test_an_epoch_may_end_where_a_run_stops(tiny, tmp_path, digest):
    """Three updates of twenty read all of the sixty documents; the fourth begins again."""

    def begin(name):
        sets = ["stages.sft.steps=5", "stages.sft.batch=20", "stages.sft.checkpoint_every=3"]
        start(tiny, out=tmp_path, name=name, only=["sft"], overrides=sets, echo=quiet)

    begin("whole")
    made = sft.update

    def stop(session, *rest):
        if session.clocks.step == 3:
            raise KeyboardInterrupt
        return made(session, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sft, "update", stop)
        with pytest.raises(RunStopped):
            begin("stopped")
    other_global_state()
    go_on(tmp_path / "stopped", echo=quiet)
    assert digest(tmp_path / "stopped") == digest(tmp_path / "whole")
