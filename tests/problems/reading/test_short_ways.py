"""Short ways through the reader give what the long ones do."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from limite.problems.reading import decoration, parser, parser_atoms
from limite.problems.reading.decoration import bare
from limite.problems.reading.faults import Unreadable
from limite.problems.reading.tokens import Notation

NOTATIONS = [
    Notation(grouped=True, scientific=True),
    Notation(),
    Notation(names=("x",)),
    Notation(names=("x",), intervals=True),
]
PIECES = [
    "0", "7", "12", "3.5", "1,234", "-", "+", "/", "*", "^", "_", "!", "%", ",", "(", ")", "[", "]",
    "{", "}", "|", " ", "x", "e", "\\frac", "\\{", "\\}", "&", "\\\\", "=", "<", "\\cup ", "U",
    "oo", "\\begin{pmatrix}", "\\end{pmatrix}", "\\sqrt", "e5", ";", "\\pm ", " and ",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join)
numbers = st.sampled_from(["-3", "4", "1/2", "-12/4", "\\frac{6}{4}", "-\\frac12", "0/5", "5/0"])
lists = st.lists(numbers, min_size=1, max_size=5).map(", ".join)


def read(text: str, notation: Notation, way: Callable[..., object] = parser._parse) -> object:
    try:
        return way(text, notation)
    except Unreadable as error:
        return type(error)


def long_way(text: str, notation: Notation) -> object:
    with mock.patch.object(parser_atoms.Atoms, "lone_number", return_value=None):
        return read(text, notation)


@given(texts | lists | lists.map("({})".format), st.sampled_from(NOTATIONS))
def test_numbers_that_stand_alone_are_what_the_grammar_makes_of_them(text, notation):
    short = read(text, notation)
    assert short == long_way(text, notation)
    assert read(text, notation, parser.parse) == short


@given(st.text(alphabet="12x.,;:!$*\\ (){}[]dquabte", max_size=12), st.booleans())
def test_what_has_no_decoration_is_left_as_it_is(text, currency):
    quick = bare(text, currency=currency)
    with mock.patch.object(decoration, "_OPENS", "".join(set(text)) + "\\"):
        assert quick == bare(text, currency=currency)
