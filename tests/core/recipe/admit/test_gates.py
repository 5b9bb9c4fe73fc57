"""Each gate passes on a sound recipe, and is missed when what it is there for is broken."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import torch

from limite.core.kernels import dispatch
from limite.core.kernels.dispatch import Implementation
from limite.core.kernels.reference import attention as plain_attention
from limite.core.kernels.reference import indexed_logprob as plain_logprob
from limite.core.recipe.admit import checkpoint as checkpoint_gate
from limite.core.recipe.admit import memory as memory_gate
from limite.core.recipe.admit import migration as migrations
from limite.core.recipe.admit import next_update
from limite.core.recipe.admit.canary import Bench
from limite.core.recipe.admit.checkpoint import checkpoint
from limite.core.recipe.admit.conditional import conditional
from limite.core.recipe.admit.first_update import excess, first_update, predicted
from limite.core.recipe.admit.memory import memory
from limite.core.recipe.admit.migration import migration
from limite.core.recipe.admit.oracle import oracle
from limite.core.recipe.admit.report import Gate
from limite.core.recipe.admit.schedule import schedule
from limite.core.recipe.runners import session as sessions
from limite.core.recipe.runners.learner import Learner
from limite.core.recipe.runners.rollouts import Rollouts
from limite.core.rollout import sampler as samplers
from limite.core.rollout.graphs import CapturedSteps, StepGraphs
from limite.core.train import replay as replays
from tests.core.rollout.pretend_capture import PretendCapture


def missed(gate: Gate) -> set[str]:
    """The figures of a gate that miss their limits."""
    return {each.name.partition("/")[2] for each in gate.verdicts if not each.passed}


@contextmanager
def implementation(op: str, function: Callable[..., Any]) -> Iterator[None]:
    """Within it ``function`` runs ``op``."""
    dispatch.register(Implementation(op, "planted", lambda: function))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(dispatch.VARIABLE, f"{op}=planted")
            yield
    finally:
        dispatch.forget(op, "planted")


# Migration


def test_the_ways_of_sampling_agree(bench: Bench) -> None:
    gate = migration(bench)
    assert gate.outcome == "passed", missed(gate)
    assert gate.recorded["responses"] == 120


def test_captured_steps_are_tried_where_there_are_any(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def graphs(_device: Any, *, kept_gib: float) -> StepGraphs:
        return StepGraphs(PretendCapture(), kept_gib=kept_gib)

    monkeypatch.setattr(migrations, "step_graphs", graphs)
    # A graph holds what torch launches. Kernels in C are none of that; where there are graphs,
    # there are none of them.
    monkeypatch.setenv(dispatch.VARIABLE, "cpu")
    gate = migration(bench)
    assert gate.outcome == "passed", missed(gate)
    assert gate.recorded["steps_not_captured"] == {}
    assert gate.recorded["graphs"]["replays"] > 0

    def careless(self: CapturedSteps, token: Any, uniform: Any) -> Any:
        return step(self, token, uniform.flip(0))

    step = CapturedSteps.next
    monkeypatch.setattr(CapturedSteps, "next", careless)
    assert "graphs_differing_responses" in missed(migration(bench))


def test_a_compaction_that_changes_a_draw_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    wave: Any = samplers._Wave
    remove = wave._remove_finished

    def and_swap_streams(self: Any) -> Any:
        found = remove(self)
        self.keys = np.roll(self.keys, 1)
        self._draw_ahead()
        return found

    monkeypatch.setattr(wave, "_remove_finished", and_swap_streams)
    gate = migration(bench)
    assert gate.outcome == "missed"
    assert "compaction_differing_responses" in missed(gate)


def test_a_compaction_that_never_happens_does_not_pass(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samplers._Wave, "_worth_removing", lambda _self, _finished: False)
    assert missed(migration(bench)) == {"compaction_spared_row_steps"}


def test_there_is_nothing_to_compact_where_responses_are_single_tokens(
    make_bench: Callable[..., Bench],
) -> None:
    gate = migration(make_bench("stages.rl.max_tokens=1"))
    assert gate.outcome == "passed", missed(gate)
    assert "nothing to compact" in gate.recorded["compaction"]


def test_a_shared_prompt_that_is_another_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    wave: Any = samplers._Wave
    prefill = wave._prefill

    def mixed_up(self: Any, prompts: Any) -> None:
        prefill(self, prompts)
        if self.sampler.prefill_once:
            self.hidden = self.hidden.roll(1, 0)

    monkeypatch.setattr(wave, "_prefill", mixed_up)
    assert "prefill_differing_responses" in missed(migration(bench))


def test_packing_that_reads_another_token_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = replays.pack

    def off_by_one(*arguments: Any, **settings: Any) -> Any:
        packed = pack(*arguments, **settings)
        if not settings["ragged"]:
            return packed
        return attrs.evolve(packed, predictors=(packed.predictors - 1).clamp(min=0))

    monkeypatch.setattr(replays, "pack", off_by_one)
    found = missed(migration(bench))
    assert found == {"packing_differing_tokens", "packing_float_max_abs_nats"}


# Oracles


def test_attention_and_objective_agree_with_float64(bench: Bench) -> None:
    gate = oracle(bench)
    assert gate.outcome == "passed", missed(gate)
    tensors = gate.recorded["tensors"]
    gradients = [name for name in tensors if name.startswith("gradient/")]
    assert len(gradients) == len(list(bench.decoder.parameters()))
    assert {"attention/layer 0", "stream/after layer 1", "replay/logp"} <= tensors.keys()


def test_attention_with_a_wrong_mask_is_found(bench: Bench) -> None:
    def too_narrow(*tensors: Any, window: int | None = None, **settings: Any) -> Any:
        narrow = 5 if window is None else min(window, 5)
        return plain_attention.attention(*tensors, window=narrow, **settings)

    with implementation("attention", too_narrow):
        gate = oracle(bench)
    assert gate.outcome == "missed"
    assert {"attention_relative_l2", "gradient_relative_l2"} <= missed(gate)


def test_a_gradient_that_is_wrong_alone_is_found(bench: Bench) -> None:
    def doubled(*tensors: Any, **settings: Any) -> Any:
        logp, *others = plain_logprob.indexed_logprob(*tensors, **settings)
        return (2 * logp - logp.detach(), *others)

    with implementation("indexed_logprob", doubled):
        gate = oracle(bench)
    assert missed(gate) == {"gradient_relative_l2"}


def test_an_objective_that_is_inexact_is_found(bench: Bench) -> None:
    objective: Any = bench.learner.objective

    class Coarse:
        needs = objective.needs

        def __call__(self, batch: Any) -> Any:
            loss = objective(batch)
            coarse = loss.value.dtype == torch.float32
            return attrs.evolve(loss, value=loss.value * 1.01 if coarse else loss.value)

    learner: Learner = attrs.evolve(bench.learner, objective=Coarse())
    bench.learner = learner
    assert "gradient_relative_l2" in missed(oracle(bench))


# Distributions


def test_decode_and_replay_give_one_distribution(bench: Bench) -> None:
    gate = conditional(bench)
    assert gate.outcome == "passed", missed(gate)
    assert gate.recorded["responses"] == 12
    assert gate.recorded["worst_position"]["passed"]
    assert not gate.recorded["worst_position"]["gates"]


def test_a_decode_step_that_drifts_is_found(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder: Any = bench.decoder
    step = decoder.step
    monkeypatch.setattr(decoder, "step", lambda tokens, cache: step(tokens, cache) * 1.5)
    found = missed(conditional(bench))
    assert "mean_mass_behavior" in found
    assert "min_effective_sample_fraction" in found
    assert "recorded_differing_tokens" not in found


# The first update


def test_the_first_update_is_what_adam_says(bench: Bench) -> None:
    before = {name: each.clone() for name, each in bench.decoder.named_parameters()}
    (gate,) = first_update(bench)
    assert gate.outcome == "passed", missed(gate)
    assert len(gate.recorded["without_gradient"]) == 1
    for name, each in bench.decoder.named_parameters():
        assert torch.equal(each, before[name]), "the next gate begins at the same weights"


def test_a_wrong_bias_correction_is_found(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Uncorrected(torch.optim.AdamW):
        """Corrects the first moment and forgets the second."""

        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                group["lr"] *= 1 / (1 - group["betas"][1]) ** 0.5
            found = super().step(closure)
            for group in self.param_groups:
                group["lr"] *= (1 - group["betas"][1]) ** 0.5
            return found

    class Settings:
        def build(self, named: Any) -> Any:
            return Uncorrected([each for _, each in named], lr=1e-3, betas=(0.9, 0.95))

    bench.session.stepper.settings = Settings()
    (gate,) = first_update(bench)
    assert missed(gate) == {"largest_excess"}


def test_weights_that_move_without_a_gradient_are_found(bench: Bench) -> None:
    class Restless(torch.optim.AdamW):
        def step(self, closure: Any = None) -> Any:
            found = super().step(closure)
            with torch.no_grad():
                for group in self.param_groups:
                    for each in group["params"]:
                        each.add_(1e-3 if each.grad is None else 0.0)
            return found

    class Settings:
        def build(self, named: Any) -> Any:
            return Restless([each for _, each in named], lr=1e-3)

    bench.session.stepper.settings = Settings()
    (gate,) = first_update(bench)
    assert missed(gate) == {"moved_without_gradient"}


def test_an_optimizer_of_two_kinds_is_held_where_it_is_adamw(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench("stages.rl.optimizer={type='muon', lr=0.02}")
    held, other = first_update(bench)
    assert held.outcome == "passed", missed(held)
    assert other.outcome == "not applicable"
    assert "the oracle is for AdamW" in str(other.not_applicable)
    assert "muon" in str(other.not_applicable)


def test_an_optimizer_of_another_kind_never_passes_silently(bench: Bench) -> None:
    class Settings:
        def build(self, named: Any) -> Any:
            return torch.optim.SGD([each for _, each in named], lr=1e-3)

    bench.session.stepper.settings = Settings()
    (gate,) = first_update(bench)
    assert gate.outcome == "not applicable"
    assert "SGD" in str(gate.not_applicable)


# Memory


def test_a_full_context_fits(bench: Bench) -> None:
    gate = memory(bench)
    assert gate.outcome == "passed", missed(gate)
    assert gate.recorded["context_tokens"] == 64
    assert gate.circumstances["peak_bytes"] > 0


def test_what_cannot_fit_is_missed_before_it_is_tried(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_gate, "memory_at_hand", lambda _device: 1 << 20)
    monkeypatch.setattr(memory_gate, "probe", lambda *_: pytest.fail("it was tried"))
    gate = memory(bench)
    assert gate.outcome == "missed"
    assert missed(gate) == {"estimate_share"}
    assert "not begun" in gate.recorded["probe"]


# Schedules and checkpoints


def test_an_overlap_that_samples_something_else_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert schedule(bench).outcome == "passed"
    bench.folder = bench.folder / "again"
    sample = Rollouts.sample

    def another(self: Rollouts, prompts: Any, *others: Any) -> Any:
        (step,) = prompts
        moved = step + 7 if self.stage.overlap_actor_learner and step else step
        return sample(self, (moved,), *others)

    monkeypatch.setattr(Rollouts, "sample", another)
    assert "overlap_differing_rollouts" in missed(schedule(bench))


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process would do is done here, in a fraction of the time."""

    def run(command: list[str], **_settings: Any) -> subprocess.CompletedProcess[str]:
        assert command[:3] == [sys.executable, "-m", next_update.__name__]
        next_update.go_on(Path(command[3]), command[4], int(command[5]))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(checkpoint_gate.subprocess, "run", run)


@pytest.mark.usefixtures("in_this_process")
def test_a_checkpoint_leads_to_the_update_that_would_have_come(bench: Bench) -> None:
    gate = checkpoint(bench)
    assert gate.outcome == "passed", gate
    assert gate.recorded["updates"] == 4


@pytest.mark.usefixtures("in_this_process")
def test_a_checkpoint_that_loses_a_moment_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = sessions.optimizer_payload

    def without_a_moment(optimizer: torch.optim.Optimizer) -> Any:
        tensors, plain = payload(optimizer)
        lost = next(name for name in tensors if name.endswith("exp_avg"))
        return {**tensors, lost: torch.zeros_like(tensors[lost])}, plain

    monkeypatch.setattr(sessions, "optimizer_payload", without_a_moment)
    gate = checkpoint(bench)
    assert gate.error is None
    assert "differing_tensors" in missed(gate)


@pytest.mark.nightly
def test_a_checkpoint_is_read_in_a_process_of_its_own(bench: Bench) -> None:
    assert checkpoint(bench).outcome == "passed"


def test_a_process_that_fails_is_a_miss(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "Traceback: it broke")
    monkeypatch.setattr(checkpoint_gate.subprocess, "run", lambda *_, **__: failed)
    gate = checkpoint(bench)
    assert gate.outcome == "missed"
    assert "it broke" in str(gate.error)


def test_a_step_over_a_power_of_two_is_no_fault() -> None:
    rate = 7e-4
    edges = 2.0 ** -torch.arange(1.0, 12.0)
    before = (edges[:, None] * (1 + torch.linspace(-1e-2, 1e-2, 4001))).flatten()
    weight = torch.nn.Parameter(before.clone())
    optimizer = torch.optim.AdamW([weight], lr=rate, weight_decay=0.0, fused=True)
    weight.grad = torch.where(torch.arange(len(before)) % 2 == 0, 3e-4, -3e-4)
    wanted = predicted(before, weight.grad, 1.0, optimizer.param_groups[0])
    optimizer.step()
    observed = weight.detach().double() - before.double()
    assert excess(before, observed, wanted, rate).max() < 1e-5
    assert excess(before, observed * 1.001, wanted, rate).max() > 1e-5
