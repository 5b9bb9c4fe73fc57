"""What is said of a batch in which few groups have both right and wrong responses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.health.contrast import (
    contrast_hint,
    mixed_group_probability,
    typical_pass_rate,
)


@given(st.floats(0.0005, 0.5), st.integers(2, 64))
def test_the_typical_rate_is_that_of_the_share(rate: float, size: int) -> None:
    share = mixed_group_probability(rate, size)
    found = typical_pass_rate(share, size)
    # Near a half the share hardly depends on the rate, so it is the share that must be met.
    assert mixed_group_probability(found, size) == pytest.approx(share, abs=1e-12)
    assert 0 < found <= 0.5


def test_eighty_five_percent_without_contrast_at_four_is_a_rate_near_0_04() -> None:
    assert typical_pass_rate(0.15, 4) == pytest.approx(0.04, abs=0.001)
    assert typical_pass_rate(0.0, 4) == pytest.approx(0.0, abs=1e-12)
    assert typical_pass_rate(1.0, 4) == 0.5


def test_the_hint_says_which_way_to_go() -> None:
    hard = contrast_hint(0.15, 0.85, 0.0, 4)
    assert hard.startswith(
        "85% of groups of 4 had no contrast, as with a typical pass rate near 0.04; "
        "make problems easier"
    )
    assert "near 0.96; make problems harder" in contrast_hint(0.15, 0.05, 0.8, 4)
    assert "near 0.04 or 0.96; choose problems between" in contrast_hint(0.15, 0.4, 0.45, 4)
    assert contrast_hint(0.34, 0.66, 0.0, 4) == ""
    assert contrast_hint(0.0, 1.0, 0.0, 1) == ""
