"""Products without a sign between their factors."""

from __future__ import annotations

import pytest

from limite.core.types import Answer
from limite.problems.verifiers.judge import judge


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("(3*n+2)*4^n", "(3n+2)4^n"),
        ("(3*n+2)*4^n", "\\left(3n+2\\right) 2^{2n}"),
        ("n*2^n", "n2^n"),
        ("n*6^n", "n2^{n}3^n"),
        ("n*2^n/2", "\\frac{n}{2}2^n"),
    ],
)
def test_a_power_of_a_number_may_stand_behind_a_letter_or_a_bracket(gold: str, text: str) -> None:
    answer = Answer(type="expression", value=gold, params={"variables": ["n"]})
    assert judge(answer, text, extract=False).correct


@pytest.mark.parametrize("text", ["n2", "(n)2", "2^n2", "2 3^n", "1 2"])
def test_a_number_alone_may_not(text: str) -> None:
    answer = Answer(type="expression", value="n*2^n", params={"variables": ["n"]})
    assert judge(answer, text, extract=False).outcome == "unreadable"
