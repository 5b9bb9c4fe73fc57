"""Norms of many tensors together, and how far an update moves the weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from limite.core.recipe.runners.stepper import Stepper
from limite.core.train.norms import distance, joint_norm
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.schedules.constant import Constant


def test_the_joint_norm_is_that_of_one_vector() -> None:
    tensors = [torch.tensor([3.0, 0.0]), torch.tensor([[4.0]], dtype=torch.bfloat16)]
    assert joint_norm(tensors) == 5.0
    assert joint_norm([]) == 0.0
    assert joint_norm([torch.full((4,), 1e38)]) == pytest.approx(2e38, rel=1e-6)


def test_a_distance_is_the_norm_of_the_difference() -> None:
    after = [torch.tensor([1.0, 2.0]), torch.tensor([0.0])]
    assert distance(after, [torch.tensor([1.0, -1.0]), torch.tensor([4.0])]) == 5.0
    assert distance([], []) == 0.0


def test_an_update_tells_how_far_it_moved_the_weights() -> None:
    module = nn.Linear(3, 2)
    unused = nn.Parameter(torch.ones(5))
    module.register_parameter("unused", unused)
    stepper = Stepper(
        module=module,
        settings=AdamW(lr=0.5),
        lr_schedule=Constant(),
        total_updates=4,
        clip_norm=1e9,
    )
    before = [each.detach().clone() for each in module.parameters()]
    module(torch.ones(1, 3)).sum().backward()
    _rate, norm, moved = stepper.update(1.0, 0, where="here")
    assert norm == pytest.approx(8**0.5)
    differences = [
        now.detach().double() - then.double()
        for now, then in zip(module.parameters(), before, strict=True)
    ]
    flat = torch.cat([each.flatten() for each in differences])
    assert moved == pytest.approx(float(flat.norm()), rel=1e-6)
    assert moved > 0
    assert torch.equal(unused, torch.ones(5))
