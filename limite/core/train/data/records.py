"""Files of one JSON object a line: each becomes a value, or a mistake with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from limite.core.errors import LimiteError, Mistake, did_you_mean, sentence
from limite.core.jsonl import NotJSON, read_numbered

T = TypeVar("T")
Record = Mapping[str, Any]

TOLD = 10
"""The most mistakes of one file that are told."""


def read_records(
    path: str | Path, parse: Callable[[Record], T]
) -> Iterator[tuple[int, T | Mistake]]:
    """Every line's number with its value, or with what is wrong with it.

    ``parse`` makes the value of an object; it raises ValueError or LimiteError to refuse one.
    """
    for number, record in read_numbered(path):
        try:
            if isinstance(record, NotJSON):
                raise ValueError(f"not JSON: {record}")
            if not isinstance(record, dict):
                raise ValueError(f"expected an object, got {_kind(record)}")
            value: T | Mistake = parse(record)
        except (ValueError, LimiteError) as error:
            value = Mistake(sentence(error), file=str(path), line=number)
        yield number, value


def text_of(record: Record, name: str) -> str:
    """The text under ``name``; a ValueError where there is none, or an empty one."""
    value = required(record, name)
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected text, got {_kind(value)}")
    if not value:
        raise ValueError(f"{name}: the text is empty")
    return value


def required(record: Record, name: str) -> Any:
    """What stands under ``name``; a ValueError with the nearest key where nothing does."""
    if name not in record:
        near = did_you_mean(name, record) or f"; there are {', '.join(record) or 'none'}"
        raise ValueError(f"lacks the key {name!r}{near}")
    return record[name]


def first_few(mistakes: Sequence[Mistake], count: int, path: str | Path) -> list[Mistake]:
    """The mistakes to be told of ``count`` that a file has."""
    if count <= len(mistakes):
        return [*mistakes]
    more = Mistake(f"{count - len(mistakes):,} more lines are wrong", file=str(path))
    return [*mistakes, more]


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    if value is None:
        return "null"
    return names.get(type(value), f"the number {value}")
