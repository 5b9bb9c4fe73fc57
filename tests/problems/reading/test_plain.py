"""Plain answers read without a parser are read as the parser reads them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.problems.answers import type_of
from limite.problems.procedural import polynomials
from limite.problems.procedural.wording import matrix_text, ratio_text
from limite.problems.reading import plain
from limite.problems.reading.faults import TooLarge, Unreadable, WrongForm

numbers = st.integers(-400, 400) | st.fractions(-9, 9, max_denominator=30)
rows = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(numbers, min_size=width, max_size=width), min_size=1, max_size=4
    )
)
QUICK = ("enclosed", "table", "polynomial", "sides", "intervals")


def read(kind, text, params):
    try:
        return type_of(kind).read(text, params)
    except (TooLarge, Unreadable, WrongForm) as error:
        return str(error)


def read_by_parser(kind, text, params):
    with pytest.MonkeyPatch.context() as patch:
        for name in QUICK:
            patch.setattr(plain, name, lambda *_: None)
        return read(kind, text, params)


def agree(kind, text, params=None):
    assert read(kind, text, params or {}) == read_by_parser(kind, text, params or {})


@given(st.lists(numbers, min_size=2, max_size=6))
def test_lists(values):
    latex = ", ".join(map(ratio_text, values))
    texts = {
        "tuple": (f"({','.join(map(str, values))})", f"({latex})"),
        "set": (f"{{{','.join(map(str, values))}}}", f"\\{{{latex}\\}}"),
    }
    for kind, ways in texts.items():
        for text in ways:
            assert plain.enclosed(text, kind) is not None
            agree(kind, text)


@given(rows)
def test_matrices(values):
    body = ",".join(f"[{','.join(map(str, row))}]" for row in values)
    for text in (f"[{body}]", matrix_text(values)):
        assert plain.table(text) is not None
        agree("matrix", text)


@given(st.lists(numbers, max_size=7).map(polynomials.polynomial), st.sampled_from("xtnz"))
def test_polynomials(terms, letter):
    for text in (polynomials.plain(terms, letter), polynomials.latex(terms, letter)):
        assert plain.polynomial(text, (letter,)) is not None
        agree("expression", text, {"variables": [letter]})


@given(st.lists(numbers, min_size=1, max_size=5).map(polynomials.polynomial), numbers)
def test_equations(terms, constant):
    names = {"variables": ["x", "y"]}
    for text in (
        f"y={polynomials.plain(terms)}",
        f"y = {polynomials.latex(terms)}",
        f"{polynomials.latex(terms)} = {ratio_text(constant)}",
    ):
        assert plain.sides(text, ("x", "y")) is not None
        agree("equation", text, names)


ends = numbers.map(lambda value: (str(value), ratio_text(value)))
infinities = st.sampled_from([("oo", "\\infty"), ("-oo", "-\\infty")])
spans = st.tuples(
    st.sampled_from("(["), ends | infinities, ends | infinities, st.sampled_from(")]")
)


@given(st.lists(spans, min_size=1, max_size=4))
def test_intervals(parts):
    canonical = "U".join(f"{left}{low[0]},{high[0]}{right}" for left, low, high, right in parts)
    latex = " \\cup ".join(f"{left}{low[1]}, {high[1]}{right}" for left, low, high, right in parts)
    for text in (canonical, latex):
        assert plain.intervals(text) is not None
        agree("interval", text, {"variable": "x"})


PIECES = [
    "x",
    "3",
    "12",
    "x^2",
    "x^{12}",
    "x^10",
    "^",
    "*",
    "/",
    "+",
    "-",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "&",
    "\\\\",
    "\\frac{1}{2}",
    "1/2",
    "0",
    "i",
    "e",
    "2x",
    "--",
    "^1",
    "\\{",
    "\\}",
    "1/0",
    "\\frac{1}{0}",
    ".",
    "1.5",
    "],[",
    "\\begin{pmatrix}",
    "\\end{pmatrix}",
]
pieces = st.sampled_from([*PIECES, " ", " + ", " - "])


@given(st.lists(pieces, min_size=1, max_size=9).map("".join))
def test_any_text(text):
    agree("expression", text, {"variables": ["x"]})
    agree("tuple", f"({text})", {"variables": ["x", "y"]})
    agree("set", f"{{{text}}}", {"variable": "x"})
    agree("equation", f"y={text}", {"variables": ["x", "y"]})
    agree("interval", f"({text})", {"variable": "x"})
    agree("interval", f"(1,2]U[{text}]", {"variable": "x"})
    agree("matrix", f"[[{text}]]")
    agree("matrix", f"\\begin{{pmatrix}}{text}\\end{{pmatrix}}")


@pytest.mark.parametrize(
    "text", ["x^10", "2x4", "3y", "x^1", "x^02", "--x", "+x", "x+", "", "1/0", "1/2x", "2/3*x^2/5"]
)
def test_what_is_less_plain_is_left_to_the_parser(text):
    assert plain.polynomial(text, ("x",)) is None
    agree("expression", text, {"variables": ["x"]})


def test_signs_and_fractions_stand_for_themselves():
    found = plain.polynomial("-\\frac{1}{2}x^2 + 3x - \\frac{5}{4}", ("x",))
    assert found == (
        "add",
        (
            ("mul", (("num", Fraction(-1, 2)), ("pow", ("sym", "x"), ("num", Fraction(2))))),
            ("mul", (("num", Fraction(3)), ("sym", "x"))),
            ("num", Fraction(-5, 4)),
        ),
    )
