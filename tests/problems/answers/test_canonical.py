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


def joined(count: int) -> st.SearchStrategy[list[str]]:
    return st.lists(RATIONALS.map(str), min_size=count, max_size=count)


def interval(ends: tuple[Fraction, Fraction], brackets: tuple[str, str]) -> str:
    low, high = sorted(ends)
    return f"{brackets[0]}{low},{high + 1}{brackets[1]}"


def plain(expressions: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions made of expressions, in brackets wherever they might be mistaken."""
    return st.one_of(
        st.tuples(expressions, st.sampled_from("+-*"), expressions).map(
            lambda parts: f"({parts[0]}){parts[1]}({parts[2]})"
        ),
        st.tuples(expressions, st.integers(2, 5)).map(lambda parts: f"({parts[0]})^{parts[1]}"),
        expressions.map(lambda inside: f"({inside})/(x^2+1)"),
        expressions.map(lambda inside: f"sin({inside})"),
        expressions.map(lambda inside: f"sqrt({inside}+x^2)"),
        expressions.map(lambda inside: f"e^(-({inside}))"),
    )


EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "y", "pi", "e", "1/2", "7", "-3", "x_1"]), plain, max_leaves=6
)
LETTERS = {"variables": ["x", "y", "x_1"]}
ANSWERS = st.one_of(
    NUMBERS.map(
        lambda number: Answer(type="real", value=f"{number}.25", params={"abs_tol": "0.1"})
    ),
    joined(2)
    .filter(lambda parts: parts[0] != "0")
    .map(
        lambda parts: Answer(
            type="complex",
            value=f"{parts[0]}{'' if parts[1].startswith('-') else '+'}{parts[1]}*i",
        )
    ),
    joined(3).map(lambda parts: Answer(type="tuple", value=f"({','.join(parts)})")),
    st.lists(RATIONALS, max_size=6, unique=True).map(
        lambda parts: Answer(type="set", value=f"{{{','.join(map(str, sorted(parts)))}}}")
    ),
    joined(4).map(
        lambda parts: Answer(
            type="matrix", value=f"[[{parts[0]},{parts[1]}],[{parts[2]},{parts[3]}]]"
        )
    ),
    st.tuples(
        st.tuples(RATIONALS, RATIONALS),
        st.tuples(st.sampled_from("[("), st.sampled_from("])")),
    ).map(lambda parts: Answer(type="interval", value=interval(*parts))),
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
    assert canonical(canonical(answer)) == canonical(answer)
    if answer.type not in ("complex",) or not answer.value.endswith(("0*i", "1*i")):
        assert canonical(answer) == answer
    assert judge(answer, answer.value, extract=False).correct


@given(ANSWERS, ANSWERS)
def test_equality_is_symmetric(left: Answer, right: Answer) -> None:
    if left.type == right.type:
        there = judge(left, right.value, extract=False)
        back = judge(right, left.value, extract=False)
        assert there.outcome == back.outcome
        if left.type != "real":
            same_value = canonical(left).value.casefold() == canonical(right).value.casefold()
            assert there.correct == same_value


@given(
    ANSWERS, st.text(max_size=40) | st.text("0123456789+-*/^_.,=()[]{}\\frac sqrt%!|", max_size=40)
)
def test_any_text_gets_the_same_verdict_twice(answer: Answer, text: str) -> None:
    verdict = judge(answer, text, extract=False)
    assert verdict.outcome in ("right", "wrong", "unreadable")
    assert judge(answer, text, extract=False) == verdict


@given(EXPRESSIONS)
def test_expressions_are_printed_as_they_are_read(text: str) -> None:
    answer = canonical(Answer(type="expression", value=text, params=LETTERS))
    assert canonical(answer) == answer
    assert judge(answer, text, extract=False).correct
    assert judge(Answer(type="expression", value=text, params=LETTERS), answer.value, extract=False)


@given(EXPRESSIONS, st.sampled_from(["x", "y", "0", "x^2"]))
def test_equations_are_printed_as_they_are_read(text: str, other: str) -> None:
    equation = Answer(type="equation", value=f"y+{text}={other}-7*y^9", params=LETTERS)
    assert canonical(canonical(equation)) == canonical(equation)
    moved = f"y+({text})-({other})=-7*y^9"
    assert judge(equation, moved, extract=False).outcome != "wrong"


@pytest.mark.parametrize(
    ("kind", "value", "params"),
    [
        ("interval", "(-oo,2)U[3,5]", {}),
        ("interval", "(-oo,oo)", {}),
        ("interval", "[sqrt(2),oo)", {}),
        ("interval", "\\emptyset", {}),
        ("set", "{}", {}),
        ("set", "{1,sqrt(2),2}", {}),
        ("set", "{(1,2),(3,4)}", {}),
        ("tuple", "(pi,-1/2*e)", {}),
        ("matrix", "[[sqrt(2)],[0]]", {}),
        ("complex", "3-4*i", {}),
        ("complex", "i", {}),
        ("real", "0.00000000000000000001", {"rel_tol": "1e-6"}),
        ("expression", "-2*x^(-1)+sqrt(x)", LETTERS),
        ("equation", "x^2+y^2=25", LETTERS),
    ],
)
def test_canonical_values_of_every_shape(kind: str, value: str, params: dict[str, object]) -> None:
    answer = Answer(type=kind, value=value, params=params)
    assert canonical(answer) == answer
    assert judge(answer, value, extract=False).correct


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


@pytest.mark.parametrize(
    "text",
    ["1234.50", "1{,}234.5", "$1,234.5$", "x = 1234.50", "d\\approx 1234.5", "1.2345\\times10^{3}",
     "1.2345e3", "1234.5 cm", "1234.503"],
)  # fmt: skip
def test_a_decimal_number_is_read_where_one_is_asked_for(text: str) -> None:
    answer = Answer(
        type="real", value="1234.5", params={"decimals": 2, "form": "decimal", "unit": "cm"}
    )
    assert judge(answer, text, extract=False).correct


@pytest.mark.parametrize("text", ["7/2", "\\frac72", "\\sqrt{12.25}", "3+0.5", "7*0.5", "x=7/2"])
def test_an_expression_is_no_answer_where_a_decimal_number_is_asked_for(text: str) -> None:
    params = {"decimals": 2}
    assert judge(Answer(type="real", value="3.5", params=params), text, extract=False).correct
    verdict = judge(
        Answer(type="real", value="3.5", params={**params, "form": "decimal"}), text, extract=False
    )
    assert not verdict.correct
    assert "no decimal number" in verdict.reason
