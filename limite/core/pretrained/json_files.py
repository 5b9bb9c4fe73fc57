"""JSON files from elsewhere: read strictly, and every mistake in them told at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from limite.core.errors import Mistake, SettingsError
from limite.core.jsonl import storage_error

LARGEST_SMALL = 1 << 24
"""Bytes of the largest settings file that is read; real ones hold some kilobytes."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return values


def _no_constant(name: str) -> Any:
    raise ValueError(f"bare {name} is not JSON")


def read_bytes(path: Path, largest: int = LARGEST_SMALL) -> bytes:
    """What a file holds; one of more than ``largest`` bytes is not read."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise storage_error(error, path) from error
    if len(data) > largest:
        message = f"larger than {largest} bytes, which no such file is"
        raise SettingsError([Mistake(message, file=str(path))])
    return data


def json_object(data: bytes, path: Path) -> dict[str, Any]:
    """The one JSON object in ``data``, which was read from ``path``.

    Bare NaN and infinities, a key that stands twice, and anything but an object are refused.
    """
    try:
        value = json.loads(data.decode(), object_pairs_hook=_pairs, parse_constant=_no_constant)
    except RecursionError:
        problem = "not JSON: nested too deeply"
    except ValueError as error:
        problem = f"not JSON: {error}"
    else:
        if isinstance(value, dict):
            return value
        problem = f"expected a JSON object, got {type(value).__name__}"
    raise SettingsError([Mistake(problem, file=str(path))])


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object of a small file; None where there is no such file."""
    if not path.exists():
        return None
    return json_object(read_bytes(path), path)


def is_id(value: Any) -> bool:
    """Whether a JSON value can be a token's id."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
