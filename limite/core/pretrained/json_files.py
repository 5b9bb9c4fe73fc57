"""JSON files from elsewhere: read strictly, and every mistake in them told at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limite.core.errors import Mistake, SettingsError
from limite.core.jsonl import loads
from limite.core.pretrained.plain_file import is_there, reading

LARGEST_SMALL = 1 << 24
"""Bytes of the largest settings file that is read; real ones hold some kilobytes."""

_PIECE = 1 << 20


def read_bytes(path: Path, largest: int = LARGEST_SMALL) -> bytes:
    """What a file holds; one of more than ``largest`` bytes is not read, nor is a pipe."""
    with reading(path) as file:
        data = bytearray()
        while len(data) <= largest and (more := file.read(_PIECE)):
            data += more
    if len(data) > largest:
        message = f"larger than {largest} bytes, which no such file is"
        raise SettingsError([Mistake(message, file=str(path))])
    return bytes(data)


def json_object(data: bytes, path: Path) -> dict[str, Any]:
    """The one JSON object in ``data``, which was read from ``path``.

    Bare NaN and infinities, a key that stands twice, and anything but an object are refused.
    """
    try:
        value = loads(data, unique=True)
    except ValueError as error:
        problem = f"not JSON: {error}"
    else:
        if isinstance(value, dict):
            return value
        problem = f"expected a JSON object, got {type(value).__name__}"
    raise SettingsError([Mistake(problem, file=str(path))])


def read_object(path: Path, largest: int = LARGEST_SMALL) -> dict[str, Any] | None:
    """The JSON object of a file; None where nothing has that name."""
    return json_object(read_bytes(path, largest), path) if is_there(path) else None


def is_id(value: Any) -> bool:
    """Whether a JSON value can be a token's id."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
