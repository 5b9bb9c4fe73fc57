"""Every row is somebody's, once and in order, and nobody has much more than a part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.recipe.ranks.sampling import requests_of
from limite.core.recipe.ranks.shares import shares
from limite.core.rollout_kinds import Request
from limite.core.types import Answer, Problem


@given(st.lists(st.integers(0, 50)), st.integers(1, 9))
def test_all_rows_once_and_in_order(sizes: list[int], ranks: int) -> None:
    found = shares(sizes, ranks)
    assert len(found) == ranks
    assert [index for each in found for index in each] == list(range(len(sizes)))


@given(st.lists(st.integers(1, 50), min_size=1), st.integers(1, 9))
def test_nobody_has_more_than_a_part_and_one_row(sizes: list[int], ranks: int) -> None:
    for each in shares(sizes, ranks):
        assert sum(sizes[index] for index in each) <= sum(sizes) / ranks + max(sizes)


def test_even_rows_are_dealt_evenly() -> None:
    assert shares([7] * 8, 4) == [range(2), range(2, 4), range(4, 6), range(6, 8)]


def test_no_rank_is_no_number_of_ranks() -> None:
    with pytest.raises(ValueError, match="at least one rank"):
        shares([1], 0)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9)), max_size=6), st.integers(1, 5))
def test_a_group_stays_on_one_rank(groups: list[tuple[int, int]], ranks: int) -> None:
    requests = []
    for number, (samples, budget) in enumerate(groups):
        answer = Answer(type="integer", value=str(number))
        problem = Problem(problem=f"{number}?", answer=answer, meta={})
        requests += [
            Request(problem=problem, sample_index=index, prompt_ids=(1,), budget_tokens=budget)
            for index in range(samples)
        ]
    parts = [requests_of(requests, rank, ranks) for rank in range(ranks)]
    assert [index for part in parts for index in part] == list(range(len(requests)))
    owners = [{id(requests[index].problem) for index in part} for part in parts]
    assert sum(map(len, owners)) == len(set().union(*owners))
