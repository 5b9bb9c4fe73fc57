"""Validators that recipes share beside those of attrs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from limite.core.errors import did_you_mean

Validator = Callable[[Any, Any, Any], None]


class SomeWrong(ValueError):
    """Some entries of a mapping are wrong; ``rest`` is the mapping with sound ones in their place,
    so that the others, and all of their names, can be looked at as well."""

    def __init__(self, told: str, rest: Mapping[str, Any]) -> None:
        super().__init__(told)
        self.rest = rest


@attrs.frozen
class Option:
    """Refuses what is not one of ``choices``."""

    choices: tuple[str, ...]

    def __call__(self, _instance: Any, attribute: Any, value: Any) -> None:
        if value not in self.choices:
            known = ", ".join(repr(choice) for choice in self.choices)
            near = did_you_mean(value, self.choices) if isinstance(value, str) else ""
            raise ValueError(f"{attribute.name!r} must be one of {known}, got {value!r}{near}")


def option(*choices: str) -> Option:
    """The value is one of ``choices``."""
    return Option(choices)


def layer_numbers(_instance: Any, attribute: Any, value: Any) -> None:
    """Layer numbers in rising order, or None."""
    if value is not None and (list(value) != sorted(set(value)) or min(value, default=0) < 0):
        raise ValueError(
            f"{attribute.name!r} must list layer numbers from 0 in rising order, got {list(value)}"
        )


def at_least_one_weight(_instance: Any, attribute: Any, value: Any) -> None:
    """A mapping of names to finite weights, none negative, not all zero."""
    if not value:
        raise ValueError(f"{attribute.name!r} must name at least one entry, got none")
    wrong = {}
    for name, weight in value.items():
        if not math.isfinite(weight) or weight < 0:
            wrong[name] = f"the weight of {name!r} must be finite and at least 0, got {weight}"
        elif weight > 1e9:
            wrong[name] = f"the weight of {name!r} must be at most a billion, got {weight:g}"
    if wrong:
        raise SomeWrong("; ".join(wrong.values()), {**value, **dict.fromkeys(wrong, 1.0)})
    if not any(value.values()):
        raise ValueError(f"{attribute.name!r} needs at least one weight above 0")


def difficulty_range(_instance: Any, attribute: Any, value: Any) -> None:
    """Two numbers with 0 <= low <= high <= 1."""
    if len(value) != 2 or not 0.0 <= value[0] <= value[1] <= 1.0:
        raise ValueError(
            f"{attribute.name!r} must be [low, high] within 0 and 1, got {list(value)}"
        )
