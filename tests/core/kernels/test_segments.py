"""Who sees whom in packed rows, against a count token by token."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.core.kernels import ops
from limite.core.kernels.layout import Layout
from limite.core.kernels.segments import spans, visible

CPU = torch.device("cpu")
NUMBERS = st.integers(-2, 3)


@st.composite
def tables(draw: st.DrawFn) -> list[list[int]]:
    """Segment numbers ``[B, T]``: runs of equal ones, some of them padding."""
    tokens = draw(st.integers(0, 9))
    row = st.lists(NUMBERS, min_size=tokens, max_size=tokens)
    return draw(st.lists(row, min_size=1, max_size=3))


def run_of(row: list[int], token: int) -> tuple[int, int]:
    """Where the run of equal numbers around ``token`` starts and ends."""
    start = end = token
    while start and row[start - 1] == row[token]:
        start -= 1
    while end < len(row) and row[end] == row[token]:
        end += 1
    return start, end


def sees(row: list[int], query: int, key: int, window: int | None) -> bool:
    start, _ = run_of(row, query)
    near = window is None or query - key < window
    return row[query] >= 0 and start <= key <= query and near


@given(tables())
@example([[-1, -1, 0, 0, -1]])
@example([[1, 0, 1, 1, 2]])
@example([[]])
def test_spans_are_the_runs(table: list[list[int]]) -> None:
    segments = torch.tensor(table, dtype=torch.int64)
    found = spans(segments)
    tokens = segments.shape[1]
    for row, numbers in enumerate(table):
        for token in range(tokens):
            start, end = (tokens, 0) if numbers[token] < 0 else run_of(numbers, token)
            assert found.starts[row, token] == start
            assert found.ends[row, token] == end
            assert found.padding[row, token] == (numbers[token] < 0)
    assert found.starts.dtype == found.ends.dtype == torch.int32
    assert found.starts.shape == segments.shape


@given(tables(), st.none() | st.integers(1, 11), st.integers(0, 9), st.booleans())
def test_visible_is_what_each_query_sees(
    table: list[list[int]], window: int | None, queries: int, narrow: bool
) -> None:
    segments = torch.tensor(table, dtype=torch.int32 if narrow else torch.int64)
    keys = segments.shape[1]
    queries = min(queries, keys)
    found = visible(queries, keys, window=window, segments=segments, device=CPU)
    expected = [
        [
            [sees(numbers, keys - queries + query, key, window) for key in range(keys)]
            for query in range(queries)
        ]
        for numbers in table
    ]
    assert found.shape == (len(table), queries, keys)
    assert found.tolist() == expected


@given(st.integers(0, 9), st.integers(0, 9), st.none() | st.integers(1, 11))
def test_without_segments_all_that_came_before(queries: int, keys: int, window: int | None) -> None:
    queries = min(queries, keys)
    found = visible(queries, keys, window=window, segments=None, device=CPU)
    one_row = [0] * keys
    assert found.shape == (1, queries, keys)
    assert found[0].tolist() == [
        [sees(one_row, keys - queries + query, key, window) for key in range(keys)]
        for query in range(queries)
    ]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.none() | st.integers(1, 6))
@example([0, 3, 0, 0, 2], None)
@example([0], 1)
def test_a_layout_is_the_segments_of_its_rows(lengths: list[int], window: int | None) -> None:
    layout = Layout.from_lengths(lengths)
    table = [number for number, length in enumerate(lengths) for _ in range(length)]
    segments = torch.tensor([table], dtype=torch.int64)
    ours, theirs = spans(layout), spans(segments)
    assert ours.starts.tolist() == theirs.starts.tolist()
    assert ours.ends.tolist() == theirs.ends.tolist()
    tokens = layout.tokens
    assert torch.equal(
        visible(tokens, tokens, window=window, segments=layout, device=CPU),
        visible(tokens, tokens, window=window, segments=segments, device=CPU),
    )


@pytest.mark.parametrize("name", ["cpu", "cpu:0", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_layout_is_where_tensors_of_that_name_are(name: str) -> None:
    q = torch.zeros(1, 1, 5, 16, device=name)
    layout = Layout.from_lengths([3, 2], name)
    assert layout.device == layout.positions.device == q.device
    out, _ = ops.attention(q, q, q, scale=1.0, segments=layout)
    assert out.shape == q.shape


def test_spans_of_a_layout_are_made_once() -> None:
    layout = Layout.from_lengths([3, 2])
    assert spans(layout) is spans(layout)


@pytest.mark.parametrize("window", [6, 7, 100])
def test_a_wide_window_is_none(window: int) -> None:
    segments = torch.tensor([[0, 0, 0, 1, 1, -1]])
    wide = visible(6, 6, window=window, segments=segments, device=CPU)
    assert torch.equal(wide, visible(6, 6, window=None, segments=segments, device=CPU))


def test_a_window_of_one_is_the_token_itself() -> None:
    segments = torch.tensor([[0, 0, 1, -1]])
    found = visible(4, 4, window=1, segments=segments, device=CPU)
    assert torch.equal(found[0], torch.eye(4, dtype=torch.bool) & (segments[0] >= 0)[:, None])
