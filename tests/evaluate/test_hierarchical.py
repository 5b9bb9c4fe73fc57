"""Problems, then responses: the exact intervals against counting and against plain resampling."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.evaluate.bootstrap import exact_interval, power
from limite.evaluate.hierarchical import (
    hierarchical_interval,
    paired_hierarchical_interval,
    resampled,
)

counts = st.lists(st.integers(0, 4), min_size=1, max_size=30)


def binomial(count, samples):
    return {
        k: Fraction(
            comb(samples, k) * count**k * (samples - count) ** (samples - k), samples**samples
        )
        for k in range(samples + 1)
    }


def interval_by_counting(distribution, problems, confidence=Fraction(19, 20)):
    """Quantiles of the sum of independent draws, in fractions."""
    ways = {0: Fraction(1)}
    for _ in range(problems):
        following = Counter()
        for total, share in ways.items():
            for value, chance in distribution.items():
                following[total + value] += share * chance
        ways = following
    ends = []
    for level in ((1 - confidence) / 2, (1 + confidence) / 2):
        reached = Fraction(0)
        for total in sorted(ways):
            reached += ways[total]
            if reached >= level:
                ends.append(total)
                break
    return tuple(ends)


@given(samples=st.integers(1, 40), data=st.data())
def test_resampled_responses_are_binomial(samples, data):
    count = data.draw(st.integers(0, samples))
    expected = [float(share) for share in binomial(count, samples).values()]
    assert resampled(count, samples) == pytest.approx(expected, abs=1e-13)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_ends_are_those_of_fractions(found):
    mixture = Counter()
    for count in found:
        for value, share in binomial(count, 3).items():
            mixture[value] += share / len(found)
    assert hierarchical_interval(found, 3) == interval_by_counting(mixture, len(found))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=5))
def test_paired_ends_are_those_of_fractions(pairs):
    mixture = Counter()
    for was, now in pairs:
        sides = product(binomial(was, 2).items(), binomial(now, 2).items())
        for (less, first), (more, second) in sides:
            mixture[more - less] += first * second / len(pairs)
    before, after = zip(*pairs, strict=True)
    assert paired_hierarchical_interval(before, after, 2) == interval_by_counting(
        mixture, len(pairs)
    )


def test_drawing_problems_and_then_responses_agrees():
    """The procedure as it is described, word for word, 4,000 times."""
    found = [0, 0, 1, 1, 2, 2, 2, 3, 4, 4, 4, 4] * 2
    table = np.array([[1] * count + [0] * (4 - count) for count in found])
    draw = np.random.default_rng(3)
    sums = []
    for _ in range(4000):
        rows = table[draw.integers(len(found), size=len(found))]
        picked = draw.integers(4, size=rows.shape)
        sums.append(int(np.take_along_axis(rows, picked, axis=1).sum()))
    sums.sort()
    low, high = hierarchical_interval(found, 4)
    assert abs(sums[99] - low) <= 1
    assert abs(sums[3899] - high) <= 1


@given(counts)
def test_it_is_no_narrower_than_problems_alone_by_more_than_a_step(found):
    low, high = hierarchical_interval(found, 4)
    plain_low, plain_high = exact_interval(found)
    assert low <= plain_low + 1
    assert high >= plain_high - 1
    assert 0 <= low <= sum(found) <= high <= 4 * len(found) or set(found) <= {0, 4}


@given(st.lists(st.sampled_from([0, 4]), min_size=1, max_size=30))
def test_responses_that_agree_leave_problems_alone(found):
    assert hierarchical_interval(found, 4) == exact_interval(found)


@given(counts, st.randoms(use_true_random=False))
def test_pairs_go_together_in_any_order(found, order):
    after = found[::-1]
    pairs = list(zip(found, after, strict=True))
    order.shuffle(pairs)
    before, shuffled = zip(*pairs, strict=True)
    assert paired_hierarchical_interval(before, shuffled, 4) == paired_hierarchical_interval(
        found, after, 4
    )


def test_power_of_a_distribution_is_that_of_a_sum():
    offset, shares = power((-1, np.array([0.25, 0.5, 0.25])), 2)
    assert offset == -2
    assert shares == pytest.approx([1 / 16, 1 / 4, 3 / 8, 1 / 4, 1 / 16])


def test_nonsense_is_refused():
    with pytest.raises(LimiteError, match="at least one problem"):
        hierarchical_interval([], 4)
    with pytest.raises(LimiteError, match="5 of 4"):
        hierarchical_interval([1, 5], 4)
    with pytest.raises(LimiteError, match="cannot be paired"):
        paired_hierarchical_interval([1, 2], [1], 4)
