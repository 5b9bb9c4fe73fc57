"""What a program may take: time, memory, files, output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from limite.core.errors import LimiteError, did_you_mean

MIB = 1 << 20


def _within(low: float, high: float) -> Any:
    def check(_instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        whole = attribute.type in (int, "int")
        kinds = (int,) if whole else (int, float)
        good = isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)
        if not good or not low <= value <= high:  # type: ignore[operator]
            kind = "whole number" if whole else "number"
            raise ValueError(
                f"{attribute.name!r} must be a {kind} from {low:g} to {high:g}, got {value!r}"
            )

    return check


@attrs.frozen(kw_only=True)
class Limits:
    """What one program may take before it is stopped; the defaults suit short solvers."""

    cpu_s: float = attrs.field(default=5.0, validator=_within(0.01, 3600))
    wall_s: float = attrs.field(default=10.0, validator=_within(0.01, 7200))
    memory_bytes: int = attrs.field(
        default=1024 * MIB,
        validator=_within(64 * MIB, 64 * 1024 * MIB),
        metadata={"help": "address space"},
    )
    file_bytes: int = attrs.field(
        default=MIB, validator=_within(0, 16 * MIB), metadata={"help": "of each scratch file"}
    )
    output_bytes: int = attrs.field(
        default=64 * 1024,
        validator=_within(0, 16 * MIB),
        metadata={"help": "of standard output, and as many of standard error"},
    )
    value_bytes: int = attrs.field(
        default=64 * 1024,
        validator=_within(16, 16 * MIB),
        metadata={"help": "of the returned value, written as JSON"},
    )
    open_files: int = attrs.field(default=64, validator=_within(8, 1024))
    threads: int = attrs.field(default=16, validator=_within(1, 256))


_NAMES = tuple(field.name for field in attrs.fields(Limits))


def limits_of(data: Mapping[str, Any]) -> Limits:
    """Limits from plain data; a LimiteError that tells every mistake."""
    wrong = [
        f"unknown limit {name!r}{did_you_mean(str(name), _NAMES)}"
        for name in data
        if name not in _NAMES
    ]
    for name in set(data) & set(_NAMES):
        try:
            Limits(**{name: data[name]})
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        raise LimiteError("; ".join(sorted(wrong)))
    return Limits(**data)
