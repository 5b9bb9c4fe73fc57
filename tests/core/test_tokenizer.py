from __future__ import annotations

import subprocess
import sys

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.tokenizer import ALPHABET, SPECIALS, CharacterTokenizer
from limite.core.types import Answer, Problem

TOKENIZER = CharacterTokenizer()


def problem(text: str) -> Problem:
    return Problem(problem=text, answer=Answer(type="integer", value="0"))


@given(st.text(alphabet=ALPHABET))
def test_decode_gives_the_text_back(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    assert all(len(SPECIALS) <= i < TOKENIZER.vocabulary for i in ids)


@given(st.permutations(sorted(set("01234+=?#\nabc"))))
def test_any_alphabet_works(characters: list[str]) -> None:
    tokenizer = CharacterTokenizer(alphabet="".join(characters))
    assert tokenizer.encode("".join(characters)) == tuple(range(3, 3 + len(characters)))
    assert tokenizer.vocabulary == 3 + len(characters)


def test_special_ids_come_first_and_differ() -> None:
    assert (TOKENIZER.pad_id, TOKENIZER.bos_id, TOKENIZER.eos_id) == (0, 1, 2)
    assert TOKENIZER.encode("0") == (3,)


def test_special_ids_leave_no_text() -> None:
    assert TOKENIZER.decode([1, *TOKENIZER.encode("1+1"), 0, 2]) == "1+1"


@pytest.mark.parametrize(
    "text", ["34+56=?", "3x+4=19, x=?", "(17*5+3) mod 7=?", "gcd(84,36)=?", "x+y=7;x-y=1;x*y=?"]
)
def test_toy_questions_can_be_written(text: str) -> None:
    ids = TOKENIZER.render_prompt(problem(text))
    assert ids[0] == TOKENIZER.bos_id
    assert TOKENIZER.decode(ids) == text + "\n"


def test_a_missing_character_is_named_with_its_place() -> None:
    with pytest.raises(LimiteError, match=r"no 'Σ' \(position 2 of '1\+Σ'\)"):
        TOKENIZER.encode("1+Σ")


def test_a_long_text_is_shown_around_the_missing_character() -> None:
    with pytest.raises(LimiteError, match=r"no 'X' \(position 500 of '1{40}X1{39}'\)"):
        TOKENIZER.encode("1" * 500 + "X" + "1" * 500)


@pytest.mark.parametrize("wrong", [-1, TOKENIZER.vocabulary])
def test_an_id_outside_the_vocabulary_is_refused(wrong: int) -> None:
    with pytest.raises(LimiteError, match=f"token id {wrong} "):
        TOKENIZER.decode([3, wrong])


@pytest.mark.parametrize(
    ("alphabet", "message"),
    [("aab\n", "'a' more than once"), ("ab", "lacks the newline"), (7, "string of")],
)
def test_unsound_alphabets_are_refused(alphabet: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CharacterTokenizer(alphabet=alphabet)  # type: ignore[arg-type]


def test_settings_compare_and_copy() -> None:
    other = attrs.evolve(TOKENIZER)
    TOKENIZER.encode("1")
    assert other == TOKENIZER
    assert attrs.asdict(TOKENIZER) == {"alphabet": ALPHABET}


def test_importing_it_leaves_torch_alone() -> None:
    code = (
        "import sys, limite.core.tokenizer; print('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
