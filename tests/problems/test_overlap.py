"""Overlap between evaluation and training texts: whole, near, and none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from limite.problems.overlap import overlap

words = st.sampled_from("abcdefgh")
texts = st.lists(words, max_size=40).map(" ".join)
LONG = " ".join(f"w{number}" for number in range(40))  # 28 windows


def test_the_same_text_otherwise_written_is_exact():
    found = overlap(["Find  X, please.", "3+4=?"], ["find x please", "3+5=?"])
    assert (found.checked, list(found.exact), list(found.near)) == (2, ["Find  X, please."], [])
    assert found.text == "1 exact and 0 near matches of 2 checked"


def test_half_of_the_windows_is_near():
    half = " ".join(LONG.split()[: 14 + 12])  # its 14 windows are half of the 28
    assert list(overlap([LONG], [half]).near) == [LONG]
    less = " ".join(LONG.split()[: 13 + 12])
    assert not overlap([LONG], [less]).near


def test_windows_of_several_sources_add_up():
    pieces = [" ".join(LONG.split()[:20]), " ".join(LONG.split()[15:40])]
    assert list(overlap([LONG], pieces).near) == [LONG]


def test_a_short_text_only_matches_whole():
    assert overlap(["a b c"], ["x a b c y"]).text == (
        "no overlap found in the listed sources (1 checked)"
    )


@given(st.lists(texts, max_size=5), st.lists(texts, max_size=5))
def test_it_agrees_with_comparing_every_pair(evaluation, training):
    found = overlap(evaluation, training)
    for text in evaluation:
        assert (text in found.exact) == (text in training)
        own = text.split()
        windows = [own[at : at + 13] for at in range(len(own) - 12)]
        there = [
            any(
                window == other.split()[at : at + 13]
                for other in training
                for at in range(len(other.split()))
            )
            for window in windows
        ]
        near = bool(windows) and sum(there) >= len(windows) / 2 and text not in training
        assert (text in found.near) == near
