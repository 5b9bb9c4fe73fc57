"""An update that meets numbers which are not finite changes nothing, and is recorded."""

from __future__ import annotations

import copy
import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from limite.core.errors import RunFailed
from limite.core.jsonl import append_jsonl, read_jsonl
from limite.core.recipe.ranks.ranks import OneRank
from limite.core.recipe.runners.session import Clocks, TrainingSession
from limite.core.recipe.runners.stepper import Stepper
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.schedules.constant import Constant


@pytest.fixture
def session(tmp_path):
    """One that has made an update, so that its optimizer remembers something."""
    torch.manual_seed(0)
    made = TrainingSession.__new__(TrainingSession)
    made.module = nn.Linear(4, 3)
    made.stepper = Stepper(
        module=made.module,
        settings=AdamW(lr=0.1),
        lr_schedule=Constant(),
        total_updates=10,
        clip_norm=1.0,
    )
    made.clocks = Clocks(step=6)
    made.context = SimpleNamespace(
        place=lambda step: f"after step {step}",
        ranks=OneRank(),
        append=lambda log, lines: append_jsonl(tmp_path / log, lines),
    )
    with_gradient(made)
    made.update(0.5)
    return made


def with_gradient(session, spoilt=0.0):
    for parameter in session.module.parameters():
        parameter.grad = torch.ones_like(parameter)
    session.module.weight.grad[1, 2] += spoilt


def state(session):
    numbers = copy.deepcopy(session.optimizer.state_dict()["state"])
    flat = [value for each in numbers.values() for value in each.values()]
    return [each.detach().clone() for each in session.module.parameters()] + flat


@pytest.mark.parametrize(
    ("loss", "spoilt", "told"),
    [
        (math.nan, 0.0, "the loss of after step 6 is nan"),
        (math.inf, 0.0, "the loss of after step 6 is inf"),
        (0.5, math.nan, "the gradient norm of after step 6 is nan"),
        (0.5, -math.inf, "the gradient norm of after step 6 is inf"),
    ],
)
def test_weights_and_moments_stay_and_it_is_recorded(session, tmp_path, loss, spoilt, told):
    before = state(session)
    assert len(before) > 2
    with_gradient(session, spoilt)
    with pytest.raises(RunFailed, match=told):
        session.update(loss)
    assert all(torch.equal(*pair) for pair in zip(before, state(session), strict=True))
    assert session.clocks.updates == 1
    (line,) = read_jsonl(tmp_path / "health.jsonl")
    assert (line["step"], line["gate"], line["passed"]) == (7, "finite", False)
    assert line["told"].startswith(told)


def test_an_update_that_goes_well_is_no_failure(session, tmp_path):
    before = state(session)
    with_gradient(session)
    session.update(0.5)
    assert not torch.equal(before[0], state(session)[0])
    assert not (tmp_path / "health.jsonl").exists()
