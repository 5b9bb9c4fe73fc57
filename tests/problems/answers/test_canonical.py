"""Canonical forms come back unchanged; equality is reflexive, symmetric and total."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.types import Answer
from limite.problems.answers import canonical
from limite.problems.verifiers.judge import judge

WORDS = st.text("abcXYZ é.-", min_size=1).map(lambda text: " ".join(text.split()).strip(". "))
NUMBERS = st.integers(-(10**50), 10**50) | st.integers(-9, 9)
RATIONALS = st.fractions(max_denominator=10**9) | st.fractions(-2, 2, max_denominator=4)
OPTIONS = {"options": {"A": "10", "B": "12", "C": "x+1"}}

ANSWERS = st.one_of(
    NUMBERS.map(lambda number: Answer(type="integer", value=str(number))),
    RATIONALS.map(lambda number: Answer(type="rational", value=str(number))),
    NUMBERS.map(
        lambda number: Answer(type="modular", value=str(number % 97), params={"modulus": 97})
    ),
    st.booleans().map(lambda true: Answer(type="boolean", value=str(true).lower())),
    st.sampled_from("ABC").map(lambda label: Answer(type="choice", value=label, params=OPTIONS)),
    WORDS.filter(bool).map(lambda words: Answer(type="string", value=words)),
)


@given(ANSWERS)
def test_a_canonical_value_is_printed_as_it_was_read(answer: Answer) -> None:
    assert canonical(answer) == answer
    assert judge(answer, answer.value, extract=False).correct


@given(ANSWERS, ANSWERS)
def test_equality_is_symmetric(left: Answer, right: Answer) -> None:
    if left.type == right.type:
        there = judge(left, right.value, extract=False)
        back = judge(right, left.value, extract=False)
        assert there.outcome == back.outcome
        assert there.correct == (left.value.casefold() == right.value.casefold())


@given(
    ANSWERS, st.text(max_size=40) | st.text("0123456789+-*/^_.,=()[]{}\\frac sqrt%!|", max_size=40)
)
def test_any_text_gets_the_same_verdict_twice(answer: Answer, text: str) -> None:
    verdict = judge(answer, text, extract=False)
    assert verdict.outcome in ("right", "wrong", "unreadable")
    assert judge(answer, text, extract=False) == verdict


@given(NUMBERS, st.integers(2, 36))
def test_integers_in_other_bases(number: int, base: int) -> None:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    rest, written = abs(number), ""
    while rest:
        rest, digit = divmod(rest, base)
        written = digits[digit] + written
    value = ("-" if number < 0 else "") + (written or "0")
    answer = Answer(type="integer", value=value, params={"base": base})
    assert canonical(answer) == answer
    assert judge(answer, value.upper(), extract=False).correct


@given(RATIONALS.filter(lambda number: number.denominator > 1))
def test_ways_to_write_a_fraction(number: Fraction) -> None:
    answer = Answer(type="rational", value=str(number))
    above, below = number.numerator, number.denominator
    whole, rest = divmod(abs(above), below)
    sign = "-" if above < 0 else ""
    for text in (
        f"\\frac{{{above}}}{{{below}}}",
        f"{sign}\\dfrac{{{3 * abs(above)}}}{{{3 * below}}}",
        f"${3 * above}/{3 * below}$",
        f"\\(\\frac{{{100 * above}}}{{{below}}}\\%\\)",
        f"{sign}{whole}\\frac{{{rest}}}{{{below}}}",
    ):
        assert judge(answer, text, extract=False).correct, text


@pytest.mark.parametrize(
    ("kind", "value"),
    [("integer", "x"), ("integer", "1/2"), ("rational", "1/0"), ("choice", "D"), ("sting", "a")],
)
def test_what_is_no_answer_is_refused(kind: str, value: str) -> None:
    with pytest.raises(LimiteError, match=r"no answer of type .*" + kind):
        canonical(Answer(type=kind, value=value, params=OPTIONS))
