"""A uniform number picks the id at which the running sum passes it, by either way."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.kernels import dispatch
from limite.core.kernels.native import draw as native
from limite.core.rollout import draw
from limite.core.rollout.draw import inverse, inverse_in_blocks, running_sum_by_doubling
from limite.core.rollout.drawing import Drawing, log_probabilities

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


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize(
    ("ids", "allowed", "unused"), [(64, 64, []), (61, 50, [0, 7, 49]), (1300, 1290, [512, 1024])]
)
def test_compiled_draws_are_those_of_torch(
    temperature: float, ids: int, allowed: int, unused: list[int]
) -> None:
    drawing = Drawing(
        temperature=temperature,
        top_p=None,
        forbid_from=allowed,
        unused_ids=unused,
        listed_tokens=None,
        device=torch.device("cpu"),
    )
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(200, ids, generator=generator).mul_(3)
    logits[::7, 3] = -torch.inf
    uniform = torch.rand(200, 1, generator=generator, dtype=torch.float64)
    uniform[0], uniform[1] = 0.0, 1 - 2**-53
    with dispatch.use("cpu"):
        plain = drawing(logits, uniform)
    found = drawing(logits, uniform)
    assert torch.equal(found.token, plain.token)
    torch.testing.assert_close(found.logprob, plain.logprob, rtol=2e-6, atol=2e-6)
    assert not set(found.token.tolist()) & {*unused, *range(allowed, ids)}
    everything = log_probabilities(logits, temperature)
    assert torch.equal(everything.gather(1, found.token[:, None]).squeeze(1), found.logprob)
    exact = (logits.double() / temperature).log_softmax(-1)
    torch.testing.assert_close(everything.double(), exact, rtol=1e-6, atol=1e-6)
    for rows in (1, 3, 8):
        few = drawing(logits[:rows], uniform[:rows])
        assert torch.equal(few.token, found.token[:rows])
        assert torch.equal(few.logprob, found.logprob[:rows])


@given(SHARES, st.floats(0, 1, exclude_max=True))
def test_a_compiled_draw_picks_where_the_running_sum_passes(
    shares: list[float], uniform: float
) -> None:
    table = torch.tensor([shares], dtype=torch.float32)
    token, logprob = native.draw(
        table.log(), torch.tensor([[uniform]], dtype=torch.float64), 1.0, len(shares), None
    )
    place, exact = int(token), table[0].double().numpy()
    assert exact[place] > 0
    reached, rounding = np.cumsum(exact), 1e-6 * exact.sum()
    assert reached[place] >= uniform * reached[-1] - rounding
    assert reached[place] - exact[place] <= uniform * reached[-1] + rounding
    assert float(logprob) == pytest.approx(np.log(exact[place] / reached[-1]), abs=1e-5)


def test_logits_that_are_no_numbers_are_told_of() -> None:
    logits = torch.zeros(2, 40)
    logits[1, 9] = torch.nan
    uniform = torch.full((2, 1), 0.5, dtype=torch.float64)
    token, logprob = native.draw(logits, uniform, 1.0, 40, None)
    assert 0 <= int(token.min()) <= int(token.max()) < 40
    assert logprob.isfinite().tolist() == [True, False]
