"""Numbers, text and thinned series of the report, over values that break careless code."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.recipe.report import charts, words

NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1e-300, 1e300, 0.0004, 999.9999, 1e6, -1e-9]),
)
BOUNDS = st.floats(min_value=-1e9, max_value=1e9, allow_subnormal=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (3.0, "3"),
        (-0.25, "−0.25"),
        (1234.5, "1,234"),
        (0.0007, "7e−4"),
        (1.5e-7, "1.5e−7"),
        (2.5e6, "2.5e6"),
        (math.nan, "not a number"),
        (-math.inf, "−∞"),
        (None, "–"),
    ],
)
def test_numbers_read_well(value: float | None, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (59.96, "1 min 00 s"),
        (184.2, "3 min 04 s"),
        (3599.7, "1 h 00 min"),
        (7620, "2 h 07 min"),
        (-1, "–"),
        (None, "–"),
    ],
)
def test_durations_read_well(seconds: float | None, text: str) -> None:
    assert words.duration(seconds) == text


def test_differences_carry_their_sign() -> None:
    assert words.points(0.2035) == "+20.3"
    assert words.points(-0.2035) == "−20.3"
    assert words.points(-0.0001) == "0.0"
    assert words.points_interval((-0.011, 0.021)) == "[−1.1, +2.1]"


@given(NUMBERS)
def test_every_number_has_words(value: float) -> None:
    for form in (words.number, words.percent, words.points, words.count, words.duration):
        assert form(value)


@given(st.text(alphabet=st.characters(codec=None)))
def test_escaped_text_is_plain_and_encodable(text: str) -> None:
    safe = words.escape(text)
    safe.encode("utf-8")
    assert not set(safe) & set("<>\"'\x00\x1b\u202e\u2066")


@given(
    st.lists(NUMBERS, min_size=1, max_size=400),
    st.integers(min_value=1, max_value=240),
)
def test_thinning_keeps_extremes_and_order(values: list[float], most: int) -> None:
    steps = [float(step) for step in range(1, len(values) + 1)]
    cut = charts.thin(steps, values, most)
    assert 1 <= len(cut.x) <= most
    assert cut.x == sorted(cut.x)
    finite = [value for value in values if math.isfinite(value)]
    if finite:
        assert min(v for v in cut.low if not math.isnan(v)) == min(finite)
        assert max(v for v in cut.high if not math.isnan(v)) == max(finite)


@given(BOUNDS, BOUNDS, st.booleans())
def test_ticks_lie_inside_and_differ(first: float, second: float, shares: bool) -> None:
    low, high = sorted((first, second))
    places = charts.ticks(low, high, 4)
    assert all(low - 1e-9 <= place <= high + 1e-9 for place in places)
    labels = charts.tick_labels(places, shares=shares)
    if high - low > 1e-3 * max(abs(low), abs(high)) > 0:
        assert len(set(labels)) == len(labels)
