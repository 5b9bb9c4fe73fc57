"""Strict hooks for the leaves of settings: nothing is coerced but an int to a float."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from limite.core.config_faults import Fault, Faults


def describe(value: Any) -> str:
    """``float 7.5``, ``str '64'``, ``a table``: what was found, for a message."""
    if value is None:
        return "None"
    origin = getattr(value, "origin", None)
    if isinstance(value, Mapping):
        return origin.__name__ if isinstance(origin, type) else "a table"
    if isinstance(value, (list, tuple)):
        return "an array"
    if attrs.has(type(value)):
        return type(value).__name__
    if isinstance(value, type) or callable(value):
        return f"the {'class' if isinstance(value, type) else 'function'} {_name(value)}"
    try:
        text = repr(value)
    except ValueError:  # Python writes out no integer of thousands of digits
        text = "of thousands of digits"
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def _name(value: Any) -> str:
    return str(getattr(value, "__name__", value))


def _fail(expected: str, value: Any) -> Faults:
    return Faults([Fault((), f"expected {expected}, got {describe(value)}")])


def _bool(value: Any, _type: Any) -> bool:
    if not isinstance(value, bool):
        raise _fail("bool", value)
    return value


def _int(value: Any, _type: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _fail("int", value)
    return int(value)


def _float(value: Any, _type: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _fail("float", value)
    try:
        number = float(value)
    except OverflowError:
        raise Faults([Fault((), "the number is too large for a float")]) from None
    if not math.isfinite(number):
        raise Faults([Fault((), f"must be finite, got {number}")])
    return number


def _str(value: Any, _type: Any) -> str:
    if not isinstance(value, str):
        raise _fail("str", value)
    return str(value)


def _none(value: Any, _type: Any) -> None:
    if value is not None:
        raise _fail("nothing", value)


STRICT_LEAVES: Mapping[type, Callable[[Any, Any], Any]] = {
    bool: _bool,
    int: _int,
    float: _float,
    str: _str,
    type(None): _none,
}
