"""Dealing groups, cutting rows, clipping gradients."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from limite.core.errors import RunFailed
from limite.core.seeds import Seeds
from limite.core.train.accumulate import microbatches
from limite.core.train.clip import clip_gradient_norm
from limite.core.train.deal import deal


@given(groups=st.integers(0, 200), updates=st.integers(1, 30), seed=st.integers(0, 5))
def test_every_group_is_dealt_once_and_evenly(groups: int, updates: int, seed: int) -> None:
    hands = deal(groups, updates, Seeds(seed).stream("deal"))
    assert len(hands) == updates
    assert sorted(index for hand in hands for index in hand) == list(range(groups))
    sizes = [len(hand) for hand in hands]
    assert max(sizes) - min(sizes) <= 1
    assert hands == deal(groups, updates, Seeds(seed).stream("deal"))


def test_the_order_is_drawn() -> None:
    first, second = (deal(64, 4, Seeds(seed).stream("deal")) for seed in (1, 2))
    assert first != second
    with pytest.raises(ValueError, match="at least one update"):
        deal(4, 0, Seeds(1).stream("deal"))


@given(
    lengths=st.lists(st.integers(0, 50), max_size=40), limit=st.sampled_from((1, 10, 49, 50, 1000))
)
def test_rows_are_cut_in_order_and_within_the_limit(lengths: list[int], limit: int) -> None:
    batches = microbatches(lengths, limit)
    assert [row for batch in batches for row in batch] == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or sum(lengths[row] for row in batch) <= limit
    with pytest.raises(ValueError, match="at least one token"):
        microbatches(lengths, 0)


def with_gradients(*values: list[float], dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    parameters = []
    for value in values:
        parameter = nn.Parameter(torch.zeros(len(value), dtype=dtype))
        parameter.grad = torch.tensor(value, dtype=dtype)
        parameters.append(parameter)
    return parameters


def test_gradients_are_scaled_to_the_limit() -> None:
    parameters = [*with_gradients([3.0], [4.0, 0.0]), nn.Parameter(torch.zeros(2))]
    assert clip_gradient_norm(parameters, 1.0) == pytest.approx(5.0, rel=1e-12)
    assert parameters[0].grad is not None
    assert parameters[0].grad.item() == pytest.approx(0.6)
    assert clip_gradient_norm(parameters, 2.0) == pytest.approx(1.0, rel=1e-6)
    assert parameters[0].grad.item() == pytest.approx(0.6)
    assert clip_gradient_norm([nn.Parameter(torch.zeros(2))], 1.0) == 0.0


def test_the_norm_neither_overflows_nor_rounds() -> None:
    large = with_gradients([1e30, 1e30])
    assert clip_gradient_norm(large, 1.0) == pytest.approx(math.sqrt(2) * 1e30, rel=1e-6)
    assert large[0].grad is not None
    assert large[0].grad.tolist() == pytest.approx([0.5**0.5] * 2)
    half = with_gradients([1.0] * 257, dtype=torch.bfloat16)
    assert clip_gradient_norm(half, 100.0) == pytest.approx(math.sqrt(257), rel=1e-12)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_broken_gradient_is_refused_untouched(value: float) -> None:
    parameters = with_gradients([3.0, value], [40.0])
    with pytest.raises(RunFailed, match="gradient norm of stage 'rl' after step 3 is"):
        clip_gradient_norm(parameters, 1.0, where="stage 'rl' after step 3")
    assert parameters[1].grad is not None
    assert parameters[1].grad.item() == 40.0
