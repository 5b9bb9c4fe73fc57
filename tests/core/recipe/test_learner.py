"""The learner's update does not depend on how its rows are cut into micro-batches."""

from __future__ import annotations

import torch

from limite.core.checkpoint.read import read_checkpoint
from limite.core.recipe.engine import start


def weights(run):
    found = read_checkpoint(run.path / "stages/03-rl/checkpoints/step-000004")
    return found.payloads["model"]


def test_micro_batches_change_nothing_but_rounding(finished, tmp_path):
    def run(*overrides):
        return start(
            finished.path,
            out=tmp_path,
            only=["rl"],
            overrides=["stages.rl.optimizer.eps=1e-3", *overrides],
            echo=lambda _line: None,
        )

    whole = weights(run("stages.rl.microbatch_tokens=100000"))
    small = weights(run("stages.rl.microbatch_tokens=1"))
    before = read_checkpoint(finished.path / "stages/01-sft/checkpoints/step-000060")
    moved = 0.0
    for name, value in whole.items():
        # With eps = 1e-3 Adam's step is nearly linear in gradients this small: rounding stays.
        torch.testing.assert_close(small[name], value, atol=1e-6, rtol=1e-5)
        moved = max(moved, float((value - before.payloads["model"][name]).abs().max()))
    assert moved > 1e-5
