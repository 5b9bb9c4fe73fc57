"""Questions in other words, templates, and what is neither."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from limite.problems.near import ALIKE, LONG_WORDS, Near, keys, numbers, shingles, template
from limite.problems.overlap import overlap

LONG = (
    "A shop sells {} red and {} blue pencils in boxes of {} each. How many boxes does the shop "
    "need so that every pencil is in a box and no box holds pencils of both colours at once?"
)


def test_numbers_are_masked_and_kept_apart() -> None:
    assert template("Find $3x+12=\\quad 1,234$.") == template("find $ 8x + 1=5 $")
    assert template("3x+12") != template("3x=12")
    assert numbers("3x + 12 = 3") == ("3", "12", "3")
    assert template("3\\,x") == template("3 x")


def test_the_same_question_in_other_words_is_found() -> None:
    said = LONG.format(12, 30, 6)
    other = said.replace("at once?", "together?")
    found = overlap([said], [other.replace("A shop", "The shop")])
    assert [match.kind for match in found.matches] == ["near"]
    # The words are few enough here that no run of 13 of them is left whole.
    short = "Find the sum of all the whole numbers from 1 to 20 that 3 divides evenly."
    again = "Find the sum of all the whole numbers from 1 to 20 which 3 divides evenly."
    assert [match.kind for match in overlap([short], [again], window=30).matches] == []
    assert [match.kind for match in overlap([said], [other], window=40).matches] == ["reworded"]


def test_other_numbers_make_a_template_and_no_copy() -> None:
    found = overlap(["What is 12 plus 7?"], ["What is 3 plus 4?", "What is 5 plus 5?"])
    ((kind, row, _, other, span),) = [
        (each.kind, each.row, each.text, each.other_row, each.span) for each in found.matches
    ]
    assert (kind, row, other, span) == ("template", 1, 1, "what is 0 plus 0")
    assert found.text == "no overlap found in the listed sources (1 checked)"


def test_a_match_names_rows_and_the_words_shared() -> None:
    words = [f"w{letter}x" for letter in "abcdefghijklmnop"]
    text = " ".join(words)
    (match,) = overlap(["other", text], ["none", "begin " + " ".join(words[1:]) + " end"]).matches
    assert (match.kind, match.row, match.other_row) == ("near", 2, 2)
    assert match.span == " ".join(words[1:])


def test_very_long_texts_are_compared_whole() -> None:
    words = " ".join(f"word{chr(97 + place % 26)}{place}" for place in range(LONG_WORDS))
    longer, changed = f"{words} end", f"{words} stop"
    found = overlap([longer, words], [changed, longer])
    assert [(each.kind, each.row, each.other_row) for each in found.matches] == [
        ("exact", 1, 2),
        ("near", 2, 1),
    ]
    assert len(shingles(words)) > len(shingles(longer)) == 1
    kept = Near()
    kept.add(*keys(longer), "longer")
    assert list(kept.find(*keys(changed))) == []
    assert list(kept.find(*keys(longer))) == ["longer"]


def test_a_phrase_of_a_template_is_no_match() -> None:
    text = " ".join(f"w{chr(97 + number)}" for number in range(20))
    training = [f"{text} {ending}" for ending in ("one", "two", "three")]
    assert overlap([text], training).near == [text]
    assert overlap([text], training, common=2).near == []


@given(st.lists(st.sampled_from("abcdef"), min_size=30, max_size=60), st.integers(0, 59))
def test_signatures_find_what_is_alike(words: list[str], place: int) -> None:
    text = " ".join(words)
    other = " ".join(word for at, word in enumerate(words) if at != place)
    near = Near()
    near.add(text, (), "kept")
    mine, others = shingles(text), shingles(other)
    alike = len(mine & others) >= ALIKE * len(mine | others)
    assert list(near.find(other, ())) == ["kept"] * alike
    assert list(near.find(text, "another mark")) == []
