"""The held-out split: by content alone, the same everywhere, and about as large as asked."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.separation import assert_separate, is_held_out, normalise, text_hash

shares = st.floats(0.01, 0.99)
HELD_OUT = [14, 24, 43, 46, 50, 53, 55]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  Find x.\n", "find x"),
        ("ﬁnd  x²", "find x2"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("a,b;c", "a b c"),
        ("3x+4=19, x=?", "3x+4=19 x="),
        ("", ""),
    ],
)
def test_normalised_text(text, normal):
    assert normalise(text) == normal


def test_every_character_counts_as_unicode_says():
    for code in range(0x3100):
        folded = unicodedata.normalize("NFKC", chr(code)).casefold()
        marks = (
            " " if mark.isspace() or unicodedata.category(mark).startswith("P") else mark
            for mark in folded
        )
        assert normalise(chr(code)) == " ".join("".join(marks).split())


@given(st.text())
def test_normalising_twice_changes_nothing_that_folds_once(text):
    once = normalise(text)
    assert "  " not in once
    assert once == once.strip()
    assert text_hash(f" {text}.\n") == text_hash(text)


@given(text=st.text(), smaller=shares, larger=shares)
def test_a_larger_share_holds_out_all_of_a_smaller_one(text, smaller, larger):
    smaller, larger = sorted((smaller, larger))
    assert is_held_out(text, larger) or not is_held_out(text, smaller)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_the_share_is_met(share):
    texts = [f"{first}+{second}=?" for first in range(100) for second in range(100)]
    held = sum(is_held_out(text, share) for text in texts)
    deviation = (10_000 * share * (1 - share)) ** 0.5
    assert abs(held - 10_000 * share) < 4 * deviation


def test_the_split_never_moves():
    """A changed hash would move problems between sets that older runs trained on."""
    assert text_hash("34+56-12=?") == "d297f8a197dcf65a56a15c34e06988a3"
    assert [number for number in range(60) if is_held_out(f"{number}+1=?")] == HELD_OUT


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_a_share_of_nothing_or_all_is_refused(share):
    with pytest.raises(ValueError, match="share"):
        is_held_out("1+1=?", share)


def test_sets_that_share_nothing_pass():
    assert_separate({text_hash("1+1=?")}, {text_hash("1+2=?"): "1+2=?"})
    assert_separate(set(), [])


def test_shared_problems_are_named():
    hashes = {text_hash(f"{number}+1=?"): f"{number}+1=?" for number in range(5)}
    with pytest.raises(LimiteError, match=r"5 held-out problems .* such as '\d\+1=\?'"):
        assert_separate(list(hashes), hashes)
    with pytest.raises(LimiteError, match=text_hash("1+1=?")):
        assert_separate(hashes, [text_hash("1+1=?")])
