"""What goes through the pipes: every value comes out as it went in, and nothing else does harm."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.problems.sandbox import wire

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**400, max_value=10**401)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.complex_numbers(allow_nan=False, allow_infinity=False)
    | st.fractions()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.text("ab"), inner, max_size=4)
        | st.frozensets(st.integers() | st.text("ab"), max_size=4)
    ),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Equal, of the same types all the way down."""
    return type(one) is type(other) and one == other and repr(one) == repr(other)


@given(VALUES)
def test_every_value_comes_back(value: Any) -> None:
    back = wire.decode(json.loads(json.dumps(wire.encode(value))))
    if isinstance(value, frozenset):
        assert back == value
    elif not any(isinstance(each, frozenset) for each in _within(value)):
        assert same(back, value)


def _within(value: Any) -> list[Any]:
    found = [value]
    for each in found:
        if isinstance(each, (list, tuple)):
            found += each
        elif isinstance(each, dict):
            found += each.values()
    return found


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5) | st.integers() | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["int", "fraction", "float", "complex", "decimal", "set", "dict", "x"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_what_no_value_is_written_as_is_refused(data: Any) -> None:
    try:
        value = wire.decode(data)
    except wire.BadValue:
        return
    assert wire.decode(wire.encode(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        Decimal("NaN"),
        Decimal("Infinity"),
        b"x",
        pytest.param(object(), id="object()"),
        int,
        "\ud800",
        {1: b""},
    ],
    ids=repr,
)
def test_what_is_no_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(wire.BadValue):
        wire.encode(value)


@pytest.mark.parametrize(
    "data",
    [
        {"fraction": ["1", "0"]},
        {"float": "nan"},
        {"int": "1_0g"},
        {"decimal": "x"},
        {"set": [["a"]]},
        {"dict": [[["a"], 1]]},
        {"int": "1", "set": []},
        {},
        1,
        1.5,
    ],
    ids=repr,
)
def test_forged_data_is_refused(data: Any) -> None:
    with pytest.raises(wire.BadValue):
        wire.decode(data)


def test_nesting_is_bounded_on_both_sides() -> None:
    deep: Any = Fraction(1, 3)
    for _ in range(wire.DEPTH - 1):
        deep = [deep]
    assert wire.decode(wire.encode(deep)) == deep
    with pytest.raises(wire.BadValue, match="deep"):
        wire.encode([[deep]])
    forged: Any = None
    for _ in range(400):
        forged = [forged]
    with pytest.raises(wire.BadValue):
        wire.decode(forged)
