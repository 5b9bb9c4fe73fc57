"""The exact verifier: its laws, and each way an answer can be right, wrong or unreadable."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.types import Answer
from limite.plugins.conformance.verifier import verifier_laws
from limite.problems.verifiers.exact import Exact

LAWS = {
    f"{name}-{law}": run
    for name, component in {"exact": Exact(), "other-marker": Exact(marker="=")}.items()
    for law, run in verifier_laws(component).items()
}


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_laws(law):
    law()


@pytest.mark.parametrize(
    ("kind", "gold", "text", "outcome"),
    [
        ("integer", "46", "#46", "right"),
        ("integer", "46", "34+12=46#46", "right"),
        ("integer", "46", "34+12=46# 46 \n", "right"),
        ("integer", "46", "#+46", "right"),
        ("integer", "46", "#0046", "right"),
        ("integer", "-5", "#-5", "right"),
        ("integer", "-5", "#\u22125", "right"),
        ("integer", "0", "#-0", "right"),
        ("integer", "9007199254740993", "#9007199254740992", "wrong"),
        ("integer", "46", "#47", "wrong"),
        ("integer", "46", "#-46", "wrong"),
        ("integer", "46", "#46#46", "wrong"),
        ("integer", "46", "#45#46", "wrong"),
        ("integer", "46", "##46", "wrong"),
        ("integer", "46", "46", "unreadable"),
        ("integer", "46", "", "unreadable"),
        ("integer", "46", "46#", "unreadable"),
        ("integer", "46", "#92/2", "unreadable"),
        ("integer", "46", "#46.0", "unreadable"),
        ("integer", "46", "#46 or 47", "unreadable"),
        ("integer", "46", "#4 6", "unreadable"),
        ("integer", "46", "#\u0664\u0666", "unreadable"),
        ("integer", "forty", "#46", "unreadable"),
        ("rational", "1/2", "#1/2", "right"),
        ("rational", "1/2", "#2/4", "right"),
        ("rational", "-1/2", "#-1/2", "right"),
        ("rational", "3", "#6/2", "right"),
        ("rational", "1/2", "#1/3", "wrong"),
        ("rational", "1/2", "#0.5", "unreadable"),
        ("rational", "1/2", "#1/0", "unreadable"),
        ("rational", "1/2", "#1/" + "2" * 641, "unreadable"),
        ("string", "a b", "#A  b.", "right"),
        ("string", "a b", "#ab", "wrong"),
        ("matrix", "[[1]]", "#[[1]]", "unreadable"),
    ],
)
def test_verdicts(kind, gold, text, outcome):
    verdict = Exact()(Answer(type=kind, value=gold), text)
    assert verdict.outcome == outcome
    assert verdict.reason


def test_case_counts_where_the_answer_says_so():
    answer = Answer(type="string", value="Ada", params={"case_sensitive": True})
    assert Exact()(answer, "#Ada").correct
    assert not Exact()(answer, "#ada").correct


def test_equal_answers_of_any_length_are_equal():
    digits = "7" * 5000
    answer = Answer(type="integer", value=digits)
    assert Exact()(answer, f"#{digits}").correct
    assert not Exact()(answer, f"#{digits[:-1]}8").correct


@given(gold=st.fractions(), given_value=st.fractions(), factor=st.integers(1, 99))
def test_fractions_compare_by_value(gold, given_value, factor):
    written = f"{given_value.numerator * factor}/{given_value.denominator * factor}"
    verdict = Exact()(Answer(type="rational", value=str(gold)), f"#{written}")
    assert verdict.correct == (Fraction(gold) == given_value)


@pytest.mark.parametrize("marker", ["", "##", "1", "x", "-", "/", " "])
def test_a_marker_that_answers_contain_is_refused(marker):
    with pytest.raises(ValueError, match="marker"):
        Exact(marker=marker)
