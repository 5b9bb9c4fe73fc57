"""The greedy soup, against the same said otherwise."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.pretrained.soup_greedy import Score, Trial, greedy

TOTAL = 6


@st.composite
def tables(draw):
    """Names, and a made-up accuracy for every set of models."""
    names = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4))
    sets = [
        frozenset(chosen)
        for size in range(1, len(names) + 1)
        for chosen in combinations(range(len(names)), size)
    ]
    return names, {chosen: draw(st.integers(0, TOTAL)) for chosen in sets}


def slow(names, table):
    """The algorithm by sets: the best first, then each that does not lower what there is."""
    left = sorted(range(len(names)), key=lambda each: (names[each], each))
    left.sort(key=lambda each: table[frozenset({each})], reverse=True)
    soup = frozenset(left[:1])
    for each in left[1:]:
        if table[soup | {each}] >= table[soup]:
            soup |= {each}
    return soup


@given(tables())
def test_it_picks_what_the_algorithm_picks(given_table):
    names, table = given_table
    asked, told = [], []

    def measure(chosen):
        asked.append(chosen)
        return Score(correct=table[frozenset(chosen)], total=TOTAL, interval=(0.0, 1.0))

    tried = greedy(names, measure, told.append)
    assert frozenset(tried.chosen) == slow(names, table)
    # No model is ever worse off than the best alone, and each set is measured once.
    best = max(table[frozenset({each})] for each in range(len(names)))
    assert table[frozenset(tried.chosen)] >= best
    assert len(asked) == len(set(asked)) == len(told) == 2 * len(names) - 1
    assert sum(tried.weights(len(names))) == pytest.approx(1.0)
    assert {each for each, weight in enumerate(tried.weights(len(names))) if weight} == set(
        tried.chosen
    )
    assert tried.record(names)["accuracy"] == table[frozenset(tried.chosen)] / TOTAL


def test_ties_keep_a_model_and_names_break_them():
    def measure(chosen):
        return Score(correct=3, total=TOTAL, interval=(0.1, 0.9))

    tried = greedy(["b", "a", "c"], measure)
    assert tried.chosen == (1, 0, 2)
    assert [trial.kept for trial in tried.steps] == [True, True, True]
    assert tried.single[0] == Trial(models=(0,), score=measure(()), kept=False)


def test_nothing_is_no_soup():
    with pytest.raises(LimiteError, match="at least one"):
        greedy([], lambda chosen: Score(correct=0, total=1, interval=(0.0, 1.0)))
