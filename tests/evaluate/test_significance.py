"""p-values by listing everything that could have been, and what several of them mean together."""

from __future__ import annotations

from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.evaluate.compare import paired_difference
from limite.evaluate.shares import wilson
from limite.evaluate.significance import cautious_difference, holm, mcnemar, sign_flip

p_values = st.lists(st.floats(0, 1), max_size=6)


@given(lost=st.integers(0, 8), won=st.integers(0, 8))
def test_mcnemar_counts_coins(lost, won):
    """Each changed problem is a coin; as far from even as observed, on either side."""
    throws = lost + won
    far = abs(lost - won)
    ways = sum(comb(throws, heads) for heads in range(throws + 1) if abs(throws - 2 * heads) >= far)
    assert mcnemar(lost, won) == pytest.approx(ways / 2**throws)
    assert mcnemar(lost, won) == mcnemar(won, lost)


def test_mcnemar_of_known_tables():
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(8, 2) == pytest.approx(2 * (1 + 10 + 45) / 1024)
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(20, 0) == pytest.approx(2 / 2**20)
    assert 0 < mcnemar(3000, 0) < 1e-300 or mcnemar(3000, 0) == 0.0
    with pytest.raises(LimiteError):
        mcnemar(-1, 2)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_flipping_signs_lists_them_all(changes):
    observed = abs(sum(changes))
    flips = list(product((1, -1), repeat=len(changes)))
    sums = [sum(s * c for s, c in zip(signs, changes, strict=True)) for signs in flips]
    share = sum(abs(total) >= observed for total in sums) / len(flips)
    assert sign_flip(changes) == pytest.approx(share)


@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=60))
def test_of_one_response_each_both_tests_are_one(changes):
    expected = mcnemar(changes.count(-1), changes.count(1))
    assert sign_flip(changes) == pytest.approx(expected)


def test_no_change_has_a_p_value_of_one():
    assert sign_flip([0] * 30) == 1.0
    assert sign_flip([1, -1]) == 1.0


@given(p_values)
def test_holm_is_no_smaller_and_keeps_the_order(found):
    adjusted = holm(found)
    assert all(raw <= more <= 1 for raw, more in zip(found, adjusted, strict=True))
    order = sorted(range(len(found)), key=found.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)


@given(p_values, st.floats(0.001, 0.5))
def test_holm_rejects_as_the_procedure_does(found, level):
    """Step by step: the smallest is held to level / m, the next to level / (m - 1), ..."""
    rejected = set()
    for rank, place in enumerate(sorted(range(len(found)), key=found.__getitem__)):
        if found[place] * (len(found) - rank) > level:
            break
        rejected.add(place)
    assert {place for place, value in enumerate(holm(found)) if value <= level} == rejected


def test_holm_of_a_known_example():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.02]) == [0.02]
    with pytest.raises(LimiteError, match="between 0 and 1"):
        holm([0.2, 1.5])


@given(st.integers(1, 60), st.data())
def test_the_cautious_interval_holds_the_difference_and_mirrors(total, data):
    was, now = (data.draw(st.integers(0, total)) for _ in range(2))
    low, high = cautious_difference((was, total), (now, total))
    assert -1 <= low <= (now - was) / total <= high <= 1
    assert cautious_difference((now, total), (was, total)) == (-high, -low)
    assert low == wilson(now, total)[0] - wilson(was, total)[1]


# The arithmetic of a published 30 x 4 evaluation, from problems made up to give its counts.

REGRESSION = [-4, -2, -2, -1, -1, -1, -1, -1, 1, 1, *[0] * 20]
TOUCHING = [4, 3, 2, 1, 1, 1, 1, -1, -1, -1, *[0] * 20]


def result(counts, first=None):
    return {
        "protocol_id": "p",
        "protocol": {},
        "complete": True,
        "total": 4 * len(counts),
        "per_problem": [
            {"id": number, "correct": count, "first": count > 2}
            for number, count in enumerate(counts)
        ],
    }


def compared(changes, before):
    after = [was + change for was, change in zip(before, changes, strict=True)]
    assert all(0 <= count <= 4 for count in after)
    return paired_difference(result(before), result(after), before_name="a", after_name="b")


def test_a_drop_of_nine_points_is_a_regression():
    before = [4, 4, 4, 4, 4, 4, 4, 4, 3, 3, *[4] * 18, 1, 0]
    assert (sum(before), sum(before) + sum(REGRESSION)) == (111, 100)  # 92.50% and 83.33% of 120
    found = compared(REGRESSION, before)
    assert found["difference"] == pytest.approx(-0.0917, abs=5e-5)
    assert found["interval"] == pytest.approx([-0.1833, -0.0167], abs=5e-5)
    assert found["wording"] == "regressed"
    # Flipping signs is the stricter test here: 62 of the 1,024 ways to choose 10 signs.
    assert found["p_value"] == 62 / 1024
    assert found["first_samples"]["lost"] == 3
    assert found["power"]["text"] == (
        "with 30 problems x 4 you can see differences of about 12.3 points"
    )


def test_an_interval_that_touches_0_supports_no_claim():
    found = compared(TOUCHING, [max(0, -change) for change in TOUCHING])
    assert found["interval"] == [0.0, 22 / 120]
    assert found["interval"][1] == pytest.approx(0.1833, abs=5e-5)
    assert found["wording"] == "no observed difference"


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=30, max_size=30))
def test_every_figure_of_30_by_4_is_a_multiple_of_one_response(pairs):
    before, after = ([pair[side] for pair in pairs] for side in (0, 1))
    found = paired_difference(result(before), result(after), before_name="a", after_name="b")
    low, high = found["interval"]
    if found["interval_count"] is not None:
        for share in (found["difference"], low, high):
            assert abs(120 * share - round(120 * share)) < 1e-9
    claimed = {"improved": low > 0, "regressed": high < 0}
    assert claimed.get(found["wording"], low <= 0 <= high)


def test_an_older_result_has_no_first_samples():
    old = result([1, 2, 3])
    for entry in old["per_problem"]:
        del entry["first"]
    found = paired_difference(old, result([1, 2, 3]), before_name="a", after_name="b")
    assert found["first_samples"] is None
