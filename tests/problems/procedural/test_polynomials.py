"""Polynomials as tuples of coefficients: their texts and the arithmetic on them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.problems.answers import canonical
from limite.problems.procedural import gold, polynomials
from limite.problems.procedural.polynomials import polynomial
from limite.problems.procedural.wording import KINDS
from limite.problems.verifiers.judge import judge

numbers = st.integers(-30, 30) | st.fractions(-5, 5, max_denominator=9)
some = st.lists(numbers, max_size=12).map(polynomial)
nonzero = some.filter(bool)


@given(some, st.sampled_from("xtn"))
def test_text_reads_back(terms, letter):
    assert polynomials.read(polynomials.latex(terms, letter), letter) == terms


@given(some)
def test_a_slot_reads_back(terms):
    kind = KINDS["polynomial"]
    assert kind.read(kind.write(terms)) == terms


@given(some)
def test_gold_is_canonical_and_its_latex_is_right(terms):
    found = gold.polynomial(terms)
    assert canonical(found.answer) == found.answer
    assert judge(found.answer, found.latex, extract=False).correct


def test_text_is_as_people_write_it():
    terms = polynomial([Fraction(1, 2), -1, 0, 3, *[0] * 8, -1])
    assert polynomials.latex(terms) == "-x^{12} + 3x^3 - x + \\frac{1}{2}"
    assert polynomials.plain(terms) == "-x^12+3*x^3-x+1/2"
    assert polynomials.latex(()) == polynomials.plain(()) == "0"


@pytest.mark.parametrize("text", ["3y", "x^", "x + ", "", "3 3", "2x4"])
def test_what_is_no_polynomial_is_refused(text):
    with pytest.raises(ValueError, match="no polynomial"):
        polynomials.read(text)


@given(some, some, numbers)
def test_arithmetic_agrees_with_values(left, right, at):
    first, second = polynomials.value(left, at), polynomials.value(right, at)
    assert polynomials.value(polynomials.plus(left, right), at) == first + second
    assert polynomials.value(polynomials.minus(left, right), at) == first - second
    assert polynomials.value(polynomials.times(left, right), at) == first * second


@given(some, nonzero)
def test_division_leaves_a_smaller_remainder(above, below):
    quotient, rest = polynomials.divided(above, below)
    assert polynomials.plus(polynomials.times(quotient, below), rest) == above
    assert polynomials.degree(rest) < polynomials.degree(below)


@given(
    st.lists(numbers, max_size=4).map(polynomial),
    st.lists(numbers, max_size=3).map(polynomial),
    numbers,
)
def test_composition_agrees_with_values(outer, inner, at):
    inside = polynomials.value(inner, at)
    assert polynomials.value(polynomials.composed(outer, inner), at) == polynomials.value(
        outer, inside
    )


@given(st.dictionaries(st.integers(-20, 20), numbers, max_size=6))
def test_interpolation_meets_its_points(points):
    found = polynomials.through(list(points.items()))
    assert polynomials.degree(found) < max(len(points), 1)
    assert all(polynomials.value(found, x) == y for x, y in points.items())


@given(st.lists(numbers, max_size=5), numbers.filter(bool))
def test_roots_are_roots(roots, lead):
    found = polynomials.with_roots(roots, lead)
    assert polynomials.degree(found) == len(roots)
    assert found[-1] == polynomials.plain_number(lead)
    assert all(polynomials.value(found, root) == 0 for root in roots)


def test_derivative():
    assert polynomials.derivative((5, 3, 0, Fraction(2, 3))) == (3, 0, 2)
