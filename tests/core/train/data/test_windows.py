"""Windows of documents, held against sets of positions, which are slow and plain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.seeds import Seeds
from limite.core.train.data.windows import (
    DROP,
    EXCLUDE,
    INCLUDE,
    OVERLAP,
    WindowCounts,
    Windows,
    cut,
    order_contract,
    refuse_other_order,
    window_starts,
)
from limite.core.train.documents import Document

settings = st.builds(
    Windows,
    tokens=st.integers(1, 9),
    policy=st.sampled_from([OVERLAP, DROP]),
    short=st.sampled_from([EXCLUDE, INCLUDE]),
)
lengths = st.lists(st.integers(1, 40), max_size=6)


@pytest.mark.parametrize(
    ("tokens", "policy", "starts"),
    [
        (10, DROP, [0, 4]),
        (10, OVERLAP, [0, 4, 5]),
        (9, DROP, [0, 4]),  # 8 targets are two windows: the ending is there without another
        (9, OVERLAP, [0, 4]),
        (5, OVERLAP, [0]),
        (4, OVERLAP, []),
        (1, OVERLAP, []),
    ],
)
def test_where_windows_of_four_targets_begin(tokens, policy, starts):
    assert window_starts(tokens, Windows(tokens=4, policy=policy)) == starts


def test_the_example_counts_what_it_repeats_and_loses():
    lost = WindowCounts.of([10], Windows(tokens=4, policy=DROP))
    assert (lost.windows, lost.unique_targets, lost.repeated_targets) == (2, 8, 0)
    assert (lost.supervised_endings, lost.ending_share) == (0, 0.0)
    kept = WindowCounts.of([10], Windows(tokens=4, policy=OVERLAP))
    assert (kept.windows, kept.unique_targets, kept.repeated_targets) == (3, 9, 3)
    assert (kept.extra_windows, kept.ending_share) == (1, 1.0)
    assert kept.told(Windows(tokens=4)) == (
        "3 windows of 4 targets (overlap-final-window) from 1 of 1 documents; 9 unique targets, 3 "
        "repeated in 1 extra windows; the ending of 100.0% of documents is learned"
    )


def counted(lengths: list[int], windows: Windows) -> WindowCounts:
    """The same counts from the positions of every target of every window."""
    counts = WindowCounts(documents=len(lengths))
    made = list(cut(lengths, windows))
    for number, tokens in enumerate(lengths):
        own = [list(range(w.start + 1, w.stop)) for w in made if w.document == number]
        if tokens <= windows.tokens:
            counts.included_documents += windows.short == INCLUDE
            counts.included_targets += sum(map(len, own))
            counts.excluded_documents += windows.short == EXCLUDE
            counts.excluded_tokens += tokens if windows.short == EXCLUDE else 0
        else:
            counts.retained += 1
            counts.windows += len(own)
            counts.extra_windows += len(own) - len(
                range(0, tokens - windows.tokens, windows.tokens)
            )
            targets = [target for window in own for target in window]
            counts.unique_targets += len(set(targets))
            counts.repeated_targets += len(targets) - len(set(targets))
        counts.supervised_endings += any(tokens - 1 in window for window in own)
    return counts


@given(lengths=lengths, windows=settings)
def test_counts_are_those_of_the_positions(lengths, windows):
    assert WindowCounts.of(lengths, windows) == counted(lengths, windows)


@given(lengths=lengths, windows=settings)
def test_what_windows_promise(lengths, windows):
    counts = WindowCounts.of(lengths, windows)
    retained = [each for each in lengths if each > windows.tokens]
    assert counts.documents == counts.retained + counts.excluded_documents + (
        counts.included_documents
    )
    assert counts.retained == len(retained)
    assert counts.repeated_targets == counts.windows * windows.tokens - counts.unique_targets
    endings = counts.supervised_endings - sum(
        1 < each <= windows.tokens and windows.short == INCLUDE for each in lengths
    )
    if windows.policy == OVERLAP:
        assert counts.unique_targets == sum(each - 1 for each in retained)
        assert endings == counts.retained
    else:
        assert counts.repeated_targets == counts.extra_windows == 0
        assert endings == sum((each - 1) % windows.tokens == 0 for each in retained)
    for window in cut(lengths, windows):
        long = lengths[window.document] > windows.tokens
        assert 0 <= window.start < window.stop <= lengths[window.document]
        assert window.stop - window.start == (
            windows.tokens + 1 if long else lengths[window.document]
        )


def documents(*texts: tuple[int, ...]) -> list[Document]:
    return [Document(ids=ids, prompt_tokens=1, style="direct") for ids in texts]


def contract(
    some: list[Document], windows: Windows, *, targets: str = "all", seed: int = 1
) -> dict[str, object]:
    return order_contract(some, windows, targets=targets, rows=3, seeds=Seeds(seed))


BASE = (documents((1, 2, 3), (4, 5)), Windows(tokens=2))


def test_the_same_texts_in_the_same_order_have_one_contract():
    again = contract(documents((1, 2, 3), (4, 5)), Windows(tokens=2))
    assert again == contract(*BASE)
    refuse_other_order(again, contract(*BASE), "it")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (contract(BASE[0], Windows(tokens=2, policy=DROP)), 'policy: "overlap-final-window" -> '),
        (contract(BASE[0], Windows(tokens=3)), "tokens: 2 -> 3"),
        (contract(BASE[0], Windows(tokens=2, short=INCLUDE)), 'short: "exclude" -> "include"'),
        (contract(*BASE, targets="response"), 'targets: "all" -> "response"'),
        (contract(*BASE, seed=2), "order_seed: "),
        (contract(documents((1, 2, 3, 4), (5,)), BASE[1]), "documents_sha256: "),
        ({}, "policy: "),
    ],
)
def test_a_cursor_of_another_order_is_refused(other, told):
    ours = contract(*BASE)
    with pytest.raises(LimiteError, match="cannot go on") as refused:
        refuse_other_order(ours, other, "it")
    assert told in str(refused.value)
    with pytest.raises(LimiteError):
        refuse_other_order(other, ours, "it")
    assert other.get("sha256") != ours["sha256"]
