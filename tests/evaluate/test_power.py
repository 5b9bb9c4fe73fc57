"""How large a difference can be seen: by formula, and by making experiments that have it."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.evaluate.intervals import difference_interval
from limite.evaluate.power import assumed_spread, detectable, observed_spread, power_text
from limite.evaluate.shares import wilson


@given(
    spread=st.floats(0.001, 0.4), problems=st.integers(20, 1000), confidence=st.floats(0.5, 0.99)
)
def test_four_times_the_problems_see_half_the_difference(spread, problems, confidence):
    one = detectable(spread, problems, confidence=confidence)
    assert detectable(spread, 4 * problems, confidence=confidence) == pytest.approx(one / 2)
    assert detectable(spread / 2, problems, confidence=confidence) == pytest.approx(one / 2)
    assert detectable(spread, problems, confidence=confidence, power=0.9) > one


def test_known_figures():
    assert detectable(0.237, 30) == pytest.approx(2.8016 * 0.237 / sqrt(30), abs=1e-5)
    assert detectable(0.0, 30) == wilson(0, 30)[1]
    assert detectable(5.0, 2) == 1.0
    assert observed_spread([4, -4], 4) == pytest.approx(sqrt(2))
    # Half right, one response each: a coin for both models, with a variance of 1/4 each.
    assert assumed_spread([0, 1], 1) == pytest.approx(sqrt(0.5))
    # Two of four right, to every problem: 2 * 4 / (4 * 3) / 2 = 1/3 of variance, over 4 responses.
    assert assumed_spread([2] * 9, 4) == pytest.approx(sqrt(2 * (1 / 3) / 4))
    assert assumed_spread([0, 4], 4, heterogeneity=0.1) == pytest.approx(0.1)
    assert power_text(30, 4, 0.1213) == (
        "with 30 problems x 4 you can see differences of about 12.1 points"
    )


def test_the_noise_of_sampling_is_found_whatever_the_problems():
    draw = np.random.default_rng(1)
    chances = draw.beta(0.6, 0.9, 100_000)
    before, after = draw.binomial(4, chances), draw.binomial(4, chances)
    observed = observed_spread((after - before).tolist(), 4)
    assert assumed_spread(before.tolist(), 4) == pytest.approx(observed, rel=0.02)


def test_a_difference_of_that_size_is_seen_four_times_in_five():
    """400 pairs of evaluations whose true difference is the one that is said to be seen."""
    draw = np.random.default_rng(2)
    problems, samples = 60, 4
    chances = draw.beta(2, 2, (400, problems))
    noise = sqrt(2 * (0.5 * 0.5 * 4 / 5) / samples)  # of Beta(2, 2): a variance of 1/20
    size = detectable(noise, problems)
    change = draw.binomial(samples, np.clip(chances + size / 2, 0, 1)) - draw.binomial(
        samples, np.clip(chances - size / 2, 0, 1)
    )
    seen = sum(difference_interval(row.tolist(), samples).low > 0 for row in change)
    assert 0.72 <= seen / 400 <= 0.88  # four standard errors of 0.8


def test_nonsense_is_refused():
    for call in (
        lambda: detectable(0.1, 0),
        lambda: detectable(-0.1, 5),
        lambda: detectable(0.1, 5, power=1.0),
        lambda: observed_spread([1], 4),
        lambda: assumed_spread([], 4),
    ):
        with pytest.raises(LimiteError):
            call()
