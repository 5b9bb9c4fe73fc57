"""A uniform number picks the id at which the running sum passes it, by either way."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.rollout import draw
from limite.core.rollout.draw import inverse, inverse_in_blocks, running_sum_by_doubling

SHARES = st.lists(
    st.sampled_from([0.0, 0.0, 1e-30, 1e-8, 0.125, 0.3, 1.0]), min_size=1, max_size=40
).filter(any)


@given(SHARES, st.floats(0, 1, exclude_max=True), st.sampled_from([1, 3, 8, 64]))
def test_blocks_pick_what_the_running_sum_picks(
    shares: list[float], uniform: float, block: int
) -> None:
    table = torch.tensor([shares], dtype=torch.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "BLOCK", block)
        patch.setattr(draw, "running_sum", running_sum_by_doubling)
        (picked,) = inverse_in_blocks(table, torch.tensor([[uniform]], dtype=torch.float64))
    place = int(picked)
    exact = table[0].double().numpy()
    assert exact[place] > 0
    reached = np.cumsum(exact)
    rounding = 1e-14 * reached[-1]
    assert reached[place] >= uniform * reached[-1] - rounding
    assert reached[place] - exact[place] <= uniform * reached[-1] + rounding


def test_both_ways_agree_over_a_large_vocabulary() -> None:
    generator = torch.Generator().manual_seed(3)
    shares = torch.randn(64, 5000, generator=generator).mul(3).softmax(-1)
    uniform = torch.rand(64, 1, generator=generator, dtype=torch.float64)
    assert torch.equal(inverse(shares, uniform), inverse_in_blocks(shares, uniform))


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=70))
def test_a_running_sum_is_one(numbers: list[int]) -> None:
    found = running_sum_by_doubling(torch.tensor([numbers, numbers], dtype=torch.float64))
    assert found.tolist() == [np.cumsum(numbers).tolist()] * 2
