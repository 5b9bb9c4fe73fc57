"""The parts of the model around the kernels: the rotary table, and the head."""

from __future__ import annotations

import pytest
import torch

from limite.core.kernels.ops import indexed_logprob, qk_norm_rope, rms_norm
from limite.core.model.head import logits, rounding
from limite.core.model.rope import Rotary

CAP = (23.0, 5.0, 7.5)


def test_rotation_follows_the_published_table():
    positions = torch.tensor([0, 7, 39])
    rotary = Rotary(pairs=2, base=1024.0, context=40)
    values = torch.linspace(-2, 2, 36, dtype=torch.float64).reshape(3, 2, 6)
    found = qk_norm_rope(values, rotary.at(positions))
    normal = rms_norm(values)
    frequency = torch.tensor(1 / 1024.0) ** torch.linspace(0, 1, 2)
    angle = positions.float()[:, None] * frequency
    cosine = angle.cos().bfloat16().double()[:, None]
    sine = angle.sin().bfloat16().double()[:, None]
    a, b = normal[..., 0:4:2], normal[..., 1:4:2]
    turned = torch.stack((a * cosine + b * sine, b * cosine - a * sine), -1).flatten(-2)
    expected = torch.cat((turned, normal[..., 4:]), -1)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_no_pairs_leave_the_norm():
    values = torch.linspace(-2, 2, 24, dtype=torch.float64).reshape(2, 2, 6)
    rotary = Rotary(pairs=0, base=1024.0, context=40)
    found = qk_norm_rope(values, rotary.at(torch.tensor([3, 9])))
    torch.testing.assert_close(found, rms_norm(values), rtol=1e-12, atol=1e-12)


def test_the_cap_bounds_logits():
    hidden = torch.linspace(-40, 40, 6).reshape(2, 3)
    table = torch.linspace(-9, 9, 12).reshape(4, 3)
    found = logits(hidden, table, CAP, "rounded")
    assert found.min() >= 0
    assert found.max() <= 23
    origin = logits(torch.zeros(1, 3), table, CAP, "rounded")
    torch.testing.assert_close(origin, torch.full((1, 4), 15.2), rtol=0, atol=0.05)


@pytest.mark.parametrize("precision", ["rounded", "float32"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_sampling_and_learning_see_the_same_probabilities(dtype, precision):
    """The logits that are sampled from, and the head that stores none, round alike."""
    generator = torch.Generator().manual_seed(2)
    hidden = torch.randn(6, 16, generator=generator).to(dtype)
    table = torch.randn(9, 16, generator=generator).to(dtype)
    targets = torch.arange(6)[:, None]
    logp, _, _ = indexed_logprob(
        hidden, table, targets, cap=CAP, round_logits=rounding(dtype, precision)
    )
    sampled = logits(hidden, table, CAP, precision).log_softmax(-1)
    assert sampled.dtype == logp.dtype == torch.float32
    torch.testing.assert_close(logp, sampled.gather(-1, targets), rtol=1e-5, atol=1e-5)
