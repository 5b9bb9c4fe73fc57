from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.rollout.uniforms import row_key, row_keys, uniforms

MASK = 2**64 - 1
KEYS = st.integers(0, MASK)


def splitmix64(key: int, position: int) -> int:
    """The published algorithm in plain integers."""
    z = (key + (position + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def test_reference_values() -> None:
    # The first three outputs of splitmix64 seeded with 1234567, as its authors' code prints them.
    outputs = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    drawn = uniforms(np.array([1234567], dtype=np.uint64), 0, 3)
    assert drawn.tolist() == [[(output >> 12) * 2.0**-52 for output in outputs]]


@given(st.lists(KEYS, min_size=1, max_size=5), st.integers(0, 10**6), st.integers(1, 20))
def test_equals_the_plain_integers(keys: list[int], first: int, count: int) -> None:
    drawn = uniforms(np.array(keys, dtype=np.uint64), first, count)
    expected = [[(splitmix64(k, first + i) >> 12) * 2.0**-52 for i in range(count)] for k in keys]
    assert drawn.tolist() == expected
    assert (drawn >= 0).all()
    assert (drawn < 1).all()


@given(KEYS, st.integers(1, 40), st.integers(1, 40))
def test_blocks_join(key: int, first: int, second: int) -> None:
    keys = np.array([key], dtype=np.uint64)
    whole = uniforms(keys, 0, first + second)
    parts = [uniforms(keys, 0, first), uniforms(keys, first, second)]
    assert np.array_equal(whole, np.concatenate(parts, axis=1))


@given(st.floats(1e-30, 1e30))
def test_the_largest_draw_stays_below_any_total(total: float) -> None:
    assert (1 - 2.0**-52) * total < total


def test_row_keys_are_fixed_and_differ() -> None:
    # A changed key would silently change every run that is resumed.
    assert row_key(7, "abc", 3) == 17427677459678867175
    rows = [(problem, index) for problem in ("a", "b", "aa") for index in range(20)]
    keys = row_keys(7, rows)
    assert keys.dtype == np.uint64
    assert len(set(keys.tolist())) == 60
    assert set(keys.tolist()).isdisjoint(row_keys(8, rows).tolist())


@pytest.mark.parametrize("spread", ["neighbours", "hashed"])
def test_values_are_uniform(spread: str) -> None:
    if spread == "neighbours":
        keys = np.arange(2000, dtype=np.uint64)
    else:
        keys = row_keys(1, [("p", index) for index in range(2000)])
    drawn = uniforms(keys, 0, 100)
    values = drawn.size
    # The mean of n uniforms has standard deviation 1/sqrt(12 n); four of them allow 1 in 16,000.
    assert abs(drawn.mean() - 0.5) < 4 / np.sqrt(12 * values)
    counts = np.histogram(drawn, bins=256, range=(0, 1))[0]
    chi_square = ((counts - values / 256) ** 2 / (values / 256)).sum()
    # Chi-square with 255 degrees of freedom: mean 255, standard deviation sqrt(510).
    assert abs(chi_square - 255) < 4 * np.sqrt(510)
    # The low bits decide too: the last byte of the 52-bit fraction is uniform as well.
    low = (drawn * 2.0**52).astype(np.uint64).ravel() & np.uint64(255)
    counts = np.bincount(low.astype(np.int64), minlength=256)
    assert abs(((counts - values / 256) ** 2 / (values / 256)).sum() - 255) < 4 * np.sqrt(510)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("lag", [1, 2, 3])
def test_neighbouring_rows_and_positions_are_uncorrelated(axis: int, lag: int) -> None:
    drawn = uniforms(np.arange(2000, dtype=np.uint64), 0, 100)
    left = np.take(drawn, range(drawn.shape[axis] - lag), axis=axis).ravel()
    right = np.take(drawn, range(lag, drawn.shape[axis]), axis=axis).ravel()
    # A sample correlation of n independent pairs has standard deviation 1/sqrt(n).
    assert abs(np.corrcoef(left, right)[0, 1]) < 4 / np.sqrt(left.size)
    # Pairs fill the unit square evenly: chi-square over 16 x 16 cells.
    cells = np.histogram2d(left, right, bins=16, range=[[0, 1], [0, 1]])[0]
    expected = left.size / 256
    assert abs(((cells - expected) ** 2 / expected).sum() - 255) < 4 * np.sqrt(510)
