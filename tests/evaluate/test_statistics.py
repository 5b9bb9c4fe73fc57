"""The statistics against golden numbers, exact counting, and each other."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.evaluate import student
from limite.evaluate.bootstrap import exact_interval, monte_carlo_interval, sum_distribution
from limite.evaluate.effective import effective_interval
from limite.evaluate.intervals import (
    CHANGED,
    EFFECTIVE,
    ENOUGH,
    FEW,
    FEW_CHANGED,
    PLAIN,
    TOO_FEW,
    WILSON,
    WITHOUT_SPREAD,
    accuracy_interval,
    bootstrap_confidence,
    difference_interval,
)
from limite.evaluate.passk import mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k
from limite.evaluate.shares import length_figures, share_text, wilson

GOLDEN = {
    case["kind"]: case
    for case in json.loads(
        (Path(__file__).parents[1] / "golden" / "statistics.json").read_text(encoding="utf-8")
    )["cases"]
}
differences = st.lists(st.integers(-4, 4), min_size=1, max_size=40)


def test_golden_pass_at_k():
    case = GOLDEN["pass_at_k"]
    for (samples, correct, k), expected in zip(
        case["inputs"]["n_c_k"], case["expected"]["value"], strict=True
    ):
        assert pass_at_k(samples, correct, k) == pytest.approx(expected, abs=1e-15)


def test_golden_wilson():
    case = GOLDEN["wilson"]
    for (count, total), expected in zip(
        case["inputs"]["correct_total"], case["expected"]["interval"], strict=True
    ):
        assert wilson(count, total) == pytest.approx(tuple(expected), abs=1e-14)


def test_golden_paired_bootstrap():
    case = GOLDEN["paired_bootstrap_exact"]
    values = case["inputs"]["correct_difference_per_problem"]
    expected = case["expected"]
    assert exact_interval(values, case["params"]["level"]) == tuple(expected["interval_sum"])
    offset, probabilities = sum_distribution(values)
    cumulative = np.cumsum(probabilities)
    low, high = expected["interval_sum"]
    found = [cumulative[end - offset] for end in (low - 1, low, high - 1, high)]
    names = ("cdf_at_lo_minus_1", "cdf_at_lo", "cdf_at_hi_minus_1", "cdf_at_hi")
    assert found == pytest.approx([expected[name] for name in names], abs=1e-12)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=4))
def test_the_distribution_is_that_of_all_resamples(values):
    sums = Counter(sum(resample) for resample in product(values, repeat=len(values)))
    offset, probabilities = sum_distribution(values)
    for place, probability in enumerate(probabilities):
        share = Fraction(sums[offset + place], len(values) ** len(values))
        assert probability == pytest.approx(float(share), abs=1e-14)
    assert sum(probabilities) == pytest.approx(1, abs=1e-14)


def interval_by_counting(values, confidence):
    """Quantiles from exact whole-number convolution."""
    low = min(values)
    one = Counter(value - low for value in values)
    ways = {0: 1}
    for _ in values:
        following = Counter()
        for total, count in ways.items():
            for value, times in one.items():
                following[total + value] += count * times
        ways = following
    ends = []
    for level in ((1 - confidence) / 2, (1 + confidence) / 2):
        reached = 0
        for total in sorted(ways):
            reached += ways[total]
            if Fraction(reached, len(values) ** len(values)) >= level:
                ends.append(total + low * len(values))
                break
    return tuple(ends)


@given(values=differences, confidence=st.sampled_from([Fraction(4, 5), Fraction(19, 20)]))
def test_ends_are_those_of_exact_whole_numbers(values, confidence):
    assert exact_interval(values, float(confidence)) == interval_by_counting(values, confidence)


@given(values=differences, seed=st.integers(0, 2**32))
def test_drawing_agrees_to_the_error_of_drawing(values, seed):
    """Each drawn end lies between the exact quantiles a little below and above its level."""
    draws = 10_000
    offset, probabilities = sum_distribution(values)
    cumulative = np.cumsum(probabilities)
    drawn = monte_carlo_interval(values, seed=seed, draws=draws)
    for end, level in zip(drawn, (0.025, 0.975), strict=True):
        place = round(end * len(values)) - offset
        reach = 6 * (0.025 * 0.975 / draws) ** 0.5  # six standard errors of a drawn share
        assert cumulative[place] >= level - reach
        assert place == 0 or cumulative[place - 1] <= level + reach


def test_drawing_agrees_to_one_step_on_the_golden_problem():
    values = GOLDEN["paired_bootstrap_exact"]["inputs"]["correct_difference_per_problem"]
    exact = exact_interval(values)
    drawn = monte_carlo_interval(values, seed=5)
    assert [abs(one * 30 - other) <= 1.001 for one, other in zip(drawn, exact, strict=True)]


@given(values=differences, seed=st.integers(0, 9))
def test_the_same_seed_gives_the_same_interval(values, seed):
    assert monte_carlo_interval(values, seed=seed, draws=300) == monte_carlo_interval(
        values, seed=seed, draws=300
    )


@given(values=differences, shift=st.integers(-50, 50))
def test_a_shift_moves_both_ends(values, shift):
    low, high = exact_interval(values)
    moved = len(values) * shift
    assert exact_interval([value + shift for value in values]) == (low + moved, high + moved)


@given(values=differences)
def test_a_change_of_sign_mirrors_the_distribution(values):
    offset, probabilities = sum_distribution(values)
    mirrored, reflected = sum_distribution([-value for value in values])
    assert mirrored == -(offset + len(probabilities) - 1)
    assert reflected[::-1] == pytest.approx(probabilities, abs=1e-14)
    for end, mirror, level in zip(
        exact_interval(values),
        exact_interval([-v for v in values])[::-1],
        (0.025, 0.975),
        strict=True,
    ):
        # Quantiles count from below on both sides, so they part where a level is met exactly.
        met = abs(probabilities[: end - offset + 1].sum() - level) < 1e-9
        assert mirror == -end or met


@given(values=differences, order=st.randoms(use_true_random=False))
def test_the_order_of_problems_is_irrelevant(values, order):
    shuffled = list(values)
    order.shuffle(shuffled)
    assert exact_interval(shuffled) == exact_interval(values)


@given(values=differences)
def test_more_confidence_is_never_narrower(values):
    low, high = exact_interval(values, 0.8)
    wide_low, wide_high = exact_interval(values, 0.99)
    assert wide_low <= low <= high <= wide_high


@given(value=st.integers(-9, 9), count=st.integers(1, 2000))
def test_equal_problems_leave_no_doubt(value, count):
    assert exact_interval([value] * count) == (value * count, value * count)


@pytest.mark.parametrize("problems", [400, 100_000])
def test_many_problems_match_the_normal_law(problems):
    """With many problems the sum is nearly normal: an independent view of the tails kept."""
    values = [(7 * index) % 5 for index in range(problems)]  # 0..4, even
    low, high = exact_interval(values)
    reach = 1.959964 * (2 * problems) ** 0.5  # the variance of 0..4 is 2
    assert low == pytest.approx(2 * problems - reach, abs=2)
    assert high == pytest.approx(2 * problems + reach, abs=2)


@pytest.mark.parametrize("call", [exact_interval, lambda v: monte_carlo_interval(v, seed=1)])
def test_no_problems_no_interval(call):
    with pytest.raises(LimiteError, match="at least one problem"):
        call([])


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan")])
def test_a_confidence_must_leave_something(confidence):
    with pytest.raises(LimiteError, match="between 0 and 1"):
        exact_interval([1, 2], confidence)
    with pytest.raises(LimiteError, match="between 0 and 1"):
        wilson(1, 2, confidence)


@given(total=st.integers(1, 500), data=st.data())
def test_wilson_holds_the_share_and_has_width(total, data):
    count = data.draw(st.integers(0, total))
    low, high = wilson(count, total)
    assert 0 <= low <= count / total <= high <= 1
    assert high - low > 0
    mirrored = wilson(total - count, total)
    assert (low, high) == pytest.approx((1 - mirrored[1], 1 - mirrored[0]), abs=1e-12)


@given(samples=st.integers(1, 12), data=st.data())
def test_pass_at_k_counts_subsets(samples, data):
    correct = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    subsets = list(combinations(range(samples), k))
    hits = sum(any(one < correct for one in subset) for subset in subsets)
    assert pass_at_k(samples, correct, k) == hits / len(subsets)
    every = sum(all(one < correct for one in subset) for subset in subsets)
    assert pass_hat_k(samples, correct, k) == every / len(subsets)


def test_pass_at_one_is_the_mean():
    assert mean_pass_at_k([0, 1, 4], 4, 1) == pytest.approx(5 / 12)
    assert mean_pass_at_k([0, 1, 4], 4, 4) == pytest.approx(2 / 3)
    assert mean_pass_hat_k([0, 1, 4], 4, 1) == mean_pass_at_k([0, 1, 4], 4, 1)
    assert mean_pass_hat_k([0, 1, 4], 4, 4) == pytest.approx(1 / 3)
    with pytest.raises(LimiteError, match=r"pass\^5 needs"):
        mean_pass_hat_k([1], 4, 5)


@pytest.mark.parametrize(("samples", "correct", "k"), [(4, 1, 5), (4, 1, 0), (4, 5, 1), (4, -1, 1)])
def test_pass_at_k_refuses_nonsense(samples, correct, k):
    with pytest.raises(LimiteError):
        pass_at_k(samples, correct, k)


def test_shares_and_lengths():
    assert share_text(19, 120) == "19/120 = 15.83%"
    assert length_figures([]) == {"count": 0, "mean": None, "median": None, "p95": None}
    assert length_figures([5]) == {"count": 1, "mean": 5, "median": 5, "p95": 5}
    assert length_figures(list(range(20, 0, -1))) == {
        "count": 20,
        "mean": 10.5,
        "median": 11,
        "p95": 20,
    }


@given(st.integers(1, 400), st.integers(1, 8), st.data())
def test_problems_that_agree_leave_a_width_that_shrinks_with_their_number(problems, samples, data):
    count = data.draw(st.integers(0, samples))
    share = count / samples
    widths = []
    for number in (problems, 2 * problems):
        found = accuracy_interval([count] * number, samples)
        assert found.method == WITHOUT_SPREAD
        assert found.counts is None
        assert 0 <= found.low <= share <= found.high <= 1
        assert (found.low, found.high) == pytest.approx(wilson(share * number, number))
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > 0
    assert accuracy_interval([0] * 16, samples).high == wilson(0, 16)[1]
    assert accuracy_interval([samples] * 16, samples).low == wilson(16, 16)[0]


@given(st.integers(1, 400), st.integers(1, 8), st.data())
def test_problems_that_all_change_alike_are_not_certain_either(problems, samples, data):
    change = data.draw(st.integers(-samples, samples))
    middle = change / samples
    widths = []
    for number in (problems, 2 * problems):
        found = difference_interval([change] * number, samples)
        reach = wilson(0, number)[1]
        few = number < 6  # too few for a claim: one of two like these is no rarity by chance
        assert found.method == WITHOUT_SPREAD + (f"; {TOO_FEW}" if few and change else "")
        low, high = max(-1, middle - reach), min(1, middle + reach)
        assert found.low == pytest.approx(min(0, low) if few else low)
        assert found.high == pytest.approx(max(0, high) if few else high)
        widths.append(found.high - found.low)
    assert widths[0] >= widths[1] > 0


some_counts = st.lists(st.integers(0, 4), min_size=2, max_size=80).filter(
    lambda counts: len(set(counts)) > 1
)


def skewness(values):
    table = np.asarray(values, dtype=np.float64)
    away = table - table.mean()
    return float((away**3).mean() / (away**2).mean() ** 1.5)


@given(some_counts)
def test_an_accuracy_has_the_bootstrap_where_problems_are_enough_for_it(counts):
    found = accuracy_interval(counts, 4)
    needed = 28 + 25 * skewness(counts) ** 2
    if abs(len(counts) - needed) > 1e-6:
        assert (found.method == PLAIN) == (len(counts) > needed)
    if found.method == PLAIN:
        assert found.counts == exact_interval(counts)
    else:
        assert found.method == EFFECTIVE
    low, high = found.counts
    assert (found.low, found.high) == (low / (4 * len(counts)), high / (4 * len(counts)))
    assert 0 <= low <= sum(counts) <= high <= 4 * len(counts)
    assert low < high
    mirrored = accuracy_interval([4 - count for count in counts], 4)
    assert mirrored.method == found.method
    assert abs(mirrored.counts[0] - (4 * len(counts) - high)) <= 1  # a tie of rounding


def plainly_effective(counts, samples):
    """Every share that the score does not refute, looked for on a fine grid."""
    table = np.asarray(counts, dtype=np.float64) / samples
    problems, share = len(table), table.mean()
    away = table - share
    error = (away**2).sum() / (problems - 1) / problems
    questions = min(share * (1 - share) / error, problems * samples)
    spread = 2 + ((away**4).mean() / (away**2).mean() ** 2 - 3) * (problems - 1) / problems
    freedom = max(problems - 1, 2 * (problems - 1) / spread if spread > 1e-9 else 1e9)
    reach = student.quantile(0.95, round(min(freedom, 1e4)))
    grid = np.linspace(0, 1, 200_001)
    kept = grid[(share - grid) ** 2 <= reach**2 * grid * (1 - grid) / questions + 1e-12]
    return kept.min() * problems * samples, kept.max() * problems * samples


@given(some_counts)
def test_the_effective_interval_is_what_a_score_does_not_refute(counts):
    found = effective_interval(counts, 4, 0.95)
    assert found == pytest.approx(plainly_effective(counts, 4), abs=0.501)


def test_two_intervals_of_lopsided_sets():
    """111 of 120, of which two problems have nearly all that is wrong; and of one sample each."""
    counts = [4] * 26 + [3, 3, 1, 0]
    assert sum(counts) == 111
    found = accuracy_interval(counts, 4)
    assert (found.counts, found.method) == ((95, 117), EFFECTIVE)
    assert exact_interval(counts) == (100, 119)
    few = accuracy_interval([1] * 28 + [0] * 2, 1)
    assert (few.low, few.high) == wilson(28, 30)
    assert (few.counts, few.method) == (None, WILSON)


@given(some_counts)
def test_a_difference_keeps_the_bootstrap_and_widens_it_where_little_changed(counts):
    changes = [count - 2 for count in counts]
    found = difference_interval(changes, 4)
    low, high = exact_interval(changes)
    changed = sum(change != 0 for change in changes)
    method = found.method.removesuffix(f"; {TOO_FEW}")
    assert (method != found.method) == (changed < 6)
    if changed < 6:
        assert found.low <= 0 <= found.high
    if changed < CHANGED and changed < len(changes):
        assert method.endswith(FEW_CHANGED)
    elif len(changes) < ENOUGH:
        assert method.endswith(FEW)
    else:
        assert found.counts == (low, high)
        assert found.method == "paired problem bootstrap, exact"
        return
    assert found.counts is not None
    assert found.counts[0] <= low < high <= found.counts[1]


@pytest.mark.parametrize("few", [[4], [4, 4], [4, 3], [4, 3, 4, 4, 3], [2] * 5, [4] * 5 + [0] * 9])
def test_a_few_problems_that_all_went_better_support_no_claim(few):
    found = difference_interval(few, 4)
    assert found.low == 0 < found.high
    assert found.method.endswith(TOO_FEW)
    assert difference_interval([-change for change in few], 4).high == 0
    enough = difference_interval([*few, *[3] * 6], 4)
    assert enough.low > 0
    assert TOO_FEW not in enough.method


def test_one_change_of_many_problems_is_no_certainty():
    found = difference_interval([4] + [0] * 199, 4)
    assert found.low == 0
    assert exact_interval([4] + [0] * 199) == (0, 12)
    assert found.counts is not None
    assert found.counts[1] > 20


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_widening_fades_with_the_number_of_problems(confidence):
    levels = [bootstrap_confidence(problems, confidence) for problems in range(2, ENOUGH + 5)]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] < 1
    assert levels[-1] == levels[ENOUGH - 2] == confidence
