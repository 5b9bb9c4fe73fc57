"""What goes through pipes: messages with their length before them, and values as JSON.

Used on both sides of the sandbox, so nothing but the standard library is imported here. Numbers go
as text, so that none loses a digit: integers as ``{"int": "-2a"}`` in base 16, which is read and
written in linear time, fractions as two of these.
"""

from __future__ import annotations

import json
import math
import os
import struct
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

HEADER = struct.Struct("<I")
DEPTH = 50
"""How deep values may be nested."""


class BadValue(ValueError):
    """A value that is no plain data, or not what a value is written as."""


class Closed(Exception):
    """The other end is gone."""


def send(descriptor: int, message: Any) -> None:
    data = json.dumps(message).encode()
    data = HEADER.pack(len(data)) + data
    while data:
        data = data[os.write(descriptor, data) :]


def receive(descriptor: int) -> Any:
    (size,) = HEADER.unpack(_exactly(descriptor, HEADER.size))
    return json.loads(_exactly(descriptor, size))


def _exactly(descriptor: int, size: int) -> bytes:
    """No byte more than that: what follows is for another process."""
    parts = []
    while size:
        part = os.read(descriptor, min(size, 1 << 16))
        if not part:
            raise Closed
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def encode(value: Any, depth: int = DEPTH) -> Any:
    """A value as JSON holds it; a BadValue where it is no plain data."""
    if value is None or value is True or value is False:
        return value
    if depth == 0:
        raise BadValue(f"nested more than {DEPTH} deep")
    if isinstance(value, str):
        try:
            str.encode(value)
        except UnicodeEncodeError as error:
            raise BadValue("text with half a surrogate pair") from error
        return str(value)
    if isinstance(value, Integral):
        return {"int": format(int(value), "x")}
    if isinstance(value, Rational):
        return {
            "fraction": [format(int(value.numerator), "x"), format(int(value.denominator), "x")]
        }
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadValue(f"{float(value)} is no number")
        return {"float": float.hex(value)}
    if isinstance(value, complex):
        return {"complex": [encode(value.real), encode(value.imag)]}
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise BadValue(f"{value} is no number")
        return {"decimal": str(value)}
    if isinstance(value, list):
        return [encode(each, depth - 1) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(each, depth - 1) for each in value]}
    if isinstance(value, (set, frozenset)):
        parts = [encode(each, depth - 1) for each in value]
        return {"set": sorted(parts, key=lambda each: json.dumps(each, sort_keys=True))}
    if isinstance(value, dict):
        pairs = [[encode(key, depth - 1), encode(each, depth - 1)] for key, each in value.items()]
        return {"dict": pairs}
    raise BadValue(f"a value of type {type(value).__name__} is no plain data")


def decode(data: Any) -> Any:
    """The value that JSON holds; a BadValue where ``encode`` writes nothing of the kind."""
    try:
        return _decode(data, DEPTH + 1)
    except (ArithmeticError, AttributeError, TypeError, ValueError, LookupError) as error:
        raise BadValue("malformed") from error


def _decode(data: Any, depth: int) -> Any:
    if depth == 0:
        raise BadValue("nested too deep")
    if isinstance(data, str):
        data.encode()  # half a surrogate pair is no text
    if data is None or isinstance(data, (bool, str)):
        return data
    if isinstance(data, list):
        return [_decode(each, depth - 1) for each in data]
    ((kind, inner),) = data.items()
    if kind == "int":
        return int(inner, 16)
    if kind == "fraction":
        above, below = inner
        return Fraction(int(above, 16), int(below, 16))
    if kind == "float":
        number = float.fromhex(inner)
        if not math.isfinite(number):
            raise BadValue("no number")
        return number
    if kind == "complex":
        real, imaginary = inner
        return complex(_decode(real, 1), _decode(imaginary, 1))
    if kind == "decimal":
        decimal = Decimal(inner)
        if not decimal.is_finite():
            raise BadValue("no number")
        return decimal
    if kind == "tuple":
        return tuple(_decode(each, depth - 1) for each in inner)
    if kind == "set":
        return frozenset(_decode(each, depth - 1) for each in inner)
    if kind == "dict":
        return {_decode(key, depth - 1): _decode(each, depth - 1) for key, each in inner}
    raise BadValue(f"unknown kind {kind!r}")
