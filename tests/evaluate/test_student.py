"""Student's t against printed tables, the normal law, and its own density summed up."""

from __future__ import annotations

from math import exp, inf, lgamma, pi, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.evaluate.student import quantile, tail

TABLE = {1: 12.7062, 2: 4.30265, 3: 3.18245, 9: 2.26216, 15: 2.13145, 29: 2.04523, 120: 1.97993}


@pytest.mark.parametrize(("freedom", "value"), TABLE.items())
def test_quantiles_of_printed_tables(freedom, value):
    assert quantile(0.95, freedom) == pytest.approx(value, abs=6e-5)


def test_one_degree_is_cauchys_and_many_are_the_normal_law():
    assert tail(1.0, 1) == pytest.approx(0.25, abs=1e-14)
    assert quantile(0.95, 1e7) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-6)
    assert tail(0.0, 3) == 0.5
    assert tail(inf, 3) == 0.0


def tail_by_summing(t, freedom):
    """The density from 0 to t by the rule of Simpson, with ten thousand strips."""
    places = np.linspace(0.0, t, 10_001)
    scale = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(freedom * pi)
    density = scale * (1 + places**2 / freedom) ** (-(freedom + 1) / 2)
    weights = np.full(len(places), 2.0)
    weights[1::2] = 4.0
    weights[0] = weights[-1] = 1.0
    return 0.5 - float(weights @ density) * t / 10_000 / 3


@given(t=st.floats(0.01, 8), freedom=st.floats(0.5, 200))
def test_the_tail_is_what_the_density_leaves(t, freedom):
    assert tail(t, freedom) == pytest.approx(tail_by_summing(t, freedom), abs=1e-10)
    assert tail(-t, freedom) == pytest.approx(1 - tail(t, freedom), abs=1e-14)


@given(confidence=st.floats(0.5, 0.999), freedom=st.floats(1, 500))
def test_a_quantile_leaves_what_it_says(confidence, freedom):
    assert 1 - 2 * tail(quantile(confidence, freedom), freedom) == pytest.approx(confidence)


def test_nonsense_is_refused():
    with pytest.raises(LimiteError, match="degrees of freedom"):
        tail(1.0, 0)
    with pytest.raises(LimiteError, match="between 0 and 1"):
        quantile(1.0, 3)
