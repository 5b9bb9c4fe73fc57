"""The reader of arithmetic: against Python where Python agrees, and total on any text."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.problems.procedural.arithmetic import Unreadable, linear_form, substitute, value

numbers = st.integers(0, 200)
expressions = st.recursive(
    numbers.map(str),
    lambda inner: (
        st.builds("{}{}{}".format, inner, st.sampled_from(["+", "-", "*", "/"]), inner)
        | inner.map("({})".format)
        | inner.map("-{}".format)
    ),
    max_leaves=12,
)


@given(text=expressions)
def test_values_are_those_of_exact_arithmetic(text):
    exact = "".join(
        f"Fraction({token})" if token.isdigit() else token
        for token in "".join(f" {mark} " if mark in "+-*/()" else mark for mark in text).split()
    )
    try:
        expected = eval(exact, {"Fraction": Fraction})  # of a text made here
    except ZeroDivisionError:
        with pytest.raises(Unreadable):
            value(text)
    else:
        assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("3x+4", {"x": 3, "": 4}),
        ("-x+2y-7", {"x": -1, "y": 2, "": -7}),
        ("2(x-1)-2x", {"": -2}),
        ("x-x", {}),
        ("(17*5+3) mod 7", {"": 4}),
        ("-1 mod 7", {"": 6}),
        ("x/2", {"x": Fraction(1, 2)}),
    ],
)
def test_linear_forms(text, form):
    assert linear_form(text) == form


def test_substitution():
    assert substitute(linear_form("2x+y-3"), {"x": Fraction(5), "y": Fraction(1)}) == 8


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "1+", "(1", "1)", "x*y", "1/0", "3 mod 0", "x mod 3", "1 2", "x2", "3**2"),
        *("_", "()", "mod", "１", "(" * 500 + "1" + ")" * 500, "1" * 2000),
    ],
)
def test_what_is_no_arithmetic_is_refused_whole(text):
    with pytest.raises(Unreadable):
        value(text)


@given(text=st.text(max_size=50) | st.text("0123456789+-*/() xmod", max_size=50))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(Unreadable):
        linear_form(text)
