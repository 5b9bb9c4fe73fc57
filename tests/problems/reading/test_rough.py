"""Constants in doubles: what they show is so."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.problems.algebra import numeric
from limite.problems.algebra.same import order, same
from limite.problems.reading import tree as t
from limite.problems.reading.faults import TooLarge, Unreadable
from limite.problems.reading.parser import parse
from limite.problems.reading.tokens import Notation


def built(function):
    def make(parts):
        try:
            return function(parts)
        except (TooLarge, Unreadable):
            return t.ONE

    return make


leaves = st.fractions(-50, 50, max_denominator=12).map(t.number) | st.integers(
    -(10**20), 10**20
).map(t.number)
constants = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, min_size=2, max_size=4).map(built(t.add))
        | st.lists(inner, min_size=2, max_size=3).map(built(t.mul))
        | st.tuples(inner, inner).map(built(lambda pair: t.divide(*pair)))
        | inner.map(built(lambda one: t.power(one, t.number(Fraction(1, 2)))))
    ),
    max_leaves=10,
)


@given(constants)
def test_the_error_is_bounded(tree):
    found = numeric.rough(tree)
    if found is None:
        return
    value, error = numeric.real_value(tree)
    assert abs(value - found[0]) <= found[1] + error


@given(constants, constants)
def test_signs_are_those_of_many_digits(left, right):
    sign = numeric.rough_sign(left, right)
    if sign:
        first, error = numeric.real_value(left)
        second, other = numeric.real_value(right)
        assert abs(first - second) > error + other
        assert sign == (1 if first > second else -1)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("sqrt(2)", "sqrt(8)/2"),
        ("(1+sqrt(5))/2", "2/(sqrt(5)-1)"),
        ("sqrt(2)+sqrt(3)", "sqrt(5+2*sqrt(6))"),
        ("1/3", "1/3+10^(-30)"),
        ("sqrt(10^40+1)", "10^20"),
        ("10^300", "10^300+1"),
    ],
)
def test_what_is_close_is_left_to_the_others(left, right):
    first, second = (parse(each, Notation()) for each in (left, right))
    assert numeric.rough_sign(first, second) == 0


def test_numbers_that_are_close_are_still_told_apart():
    first, second = parse("sqrt(10^40+1)", Notation()), parse("10^20", Notation())
    assert not same(first, second)
    assert order(first, second) == 1
