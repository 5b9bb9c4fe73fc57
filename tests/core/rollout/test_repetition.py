"""The repetition detector: its rule, and that growing texts get the verdict of whole ones."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.rollout.repetition import RepetitionDetector, Repetitions, Texts, settled

DETECTOR = RepetitionDetector()


def test_fewer_than_500_words_are_never_repetitive() -> None:
    assert not DETECTOR.repetitive("a " * 499)
    assert DETECTOR.repetitive("a " * 500)
    assert not DETECTOR.repetitive("")


def test_the_threshold_itself_is_not_repetitive() -> None:
    # 603 words are 600 windows; a period of p words repeated is p distinct ones.
    for period, expected in ((89, True), (90, False), (91, False)):
        words = [str(place % period) for place in range(603)]
        assert DETECTOR.repetitive(" ".join(words)) is expected


def test_any_white_space_divides_words() -> None:
    assert DETECTOR.repetitive("a\n\tb\u2003c\x1cd\u0085" * 200)


def test_checks_come_every_512_tokens() -> None:
    assert [count for count in range(1600) if DETECTOR.due(count)] == [512, 1024, 1536]


def test_identity_is_name_and_hash_of_the_content() -> None:
    assert DETECTOR.identity == "word-windows:47a514d6132225d1"
    others = [
        attrs.evolve(DETECTOR, min_words=501),
        attrs.evolve(DETECTOR, window_words=5),
        attrs.evolve(DETECTOR, threshold=0.16),
        attrs.evolve(DETECTOR, every_tokens=256),
    ]
    assert len({each.identity for each in (DETECTOR, *others)}) == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_words", 0),
        ("window_words", 0),
        ("threshold", 0.0),
        ("threshold", 1.1),
        ("every_tokens", 0),
    ],
)
def test_settings_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        RepetitionDetector(**{name: value})


# Few words, so that windows come again; every piece may end anywhere, white space included.
texts = st.lists(
    st.sampled_from(("a", "b", "ab", " ", "\n", "\u2003", "\x1c", "  ", "é", "a b a b ")),
    max_size=40,
).map("".join)
detectors = st.builds(
    RepetitionDetector,
    min_words=st.integers(1, 6),
    window_words=st.integers(1, 4),
    threshold=st.sampled_from((0.15, 0.5, 0.75, 1.0)),
)


@given(detectors, st.lists(st.tuples(texts, texts, texts), max_size=5), st.data())
def test_growing_texts_get_the_verdict_of_whole_ones(
    detector: RepetitionDetector, steps: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    rows = Repetitions(detector, 3)
    whole = ["", "", ""]
    for pieces in steps:
        before, texts_before = rows.copy(), list(whole)
        rows.feed(pieces[: len(rows)])
        whole = [text + piece for text, piece in zip(whole, pieces, strict=False)]
        assert rows.repetitive() == [detector.repetitive(text) for text in whole]
        assert before.repetitive() == [detector.repetitive(text) for text in texts_before]
        if data.draw(st.booleans()):
            kept = data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=3))
            rows.select(kept)
            whole = [whole[row] for row in kept]


@given(texts, detectors)
def test_letter_by_letter_with_or_without_looking(text: str, detector: RepetitionDetector) -> None:
    looked, blind = Repetitions(detector, 1), Repetitions(detector, 1)
    for place, letter in enumerate(text):
        looked.feed([letter])
        blind.feed([letter])
        assert looked.repetitive() == [detector.repetitive(text[: place + 1])]
    assert blind.repetitive() == looked.repetitive()


def test_every_row_is_fed() -> None:
    with pytest.raises(ValueError, match="zip"):
        Repetitions(DETECTOR, 2).feed(["a"])


def test_texts_are_read_from_tokens_as_they_come():
    """Bytes stand for tokens: a character of several is read when it is whole."""

    def decode(ids):
        return bytes(ids).decode(errors="replace")

    detector = RepetitionDetector(min_words=8, every_tokens=5)
    same = "na été ∀ ".encode() * 40
    other = "".join(f"{number}é∀ " for number in range(60)).encode()
    texts = Texts(detector, 3)
    for end in range(5, 200, 5):
        rows = {0: list(same[:end]), 2: list(other[:end])}
        found = texts.repetitive(rows, decode)
        # What is not whole yet is left out; the rest is judged as the whole text would be.
        for row, data in ((0, same), (2, other)):
            whole = data[:end].decode(errors="ignore")
            assert (row in found) == detector.repetitive(whole), (row, end)
    texts.select([2, 0])
    assert texts.repetitive({1: list(same[:200])}, decode) == [1]


def test_a_check_reads_what_is_new_and_no_more():
    """What a later check costs does not grow with the text before it."""
    asked = []

    def decode(ids):
        asked.append(len(ids))
        return bytes(ids).decode(errors="replace")

    texts = Texts(RepetitionDetector(every_tokens=10), 1)
    data = list("some é words ∀ and others ".encode() * 40)
    costs = []
    for end in range(10, len(data), 10):
        asked.clear()
        texts.repetitive({0: data[:end]}, decode)
        costs.append(sum(asked))
    # Ten new tokens, what was held of a character, and the tries that find where one is whole.
    assert max(costs) <= (10 + 4) * 5
    assert sum(costs[-20:]) <= 1.5 * sum(costs[:20])


def test_tokens_that_are_no_text_are_read_all_the_same():
    def decode(ids):
        return bytes(ids).decode(errors="replace")

    assert settled(list(b"ab\xff\xff\xff\xff\xff\xff"), decode)[1] == 8
    assert settled(list("abé".encode())[:-1], decode) == ("ab", 2)
    assert settled([], decode) == ("", 0)
