"""Strict hooks for what holds other settings: unions, tables of one type, arrays, choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import attrs
import cattrs

from limite.core.config_faults import Fault, Faults, Rest, gathered
from limite.core.config_fields import sketch
from limite.core.config_leaves import STRICT_LEAVES, describe
from limite.core.config_types import arms_of, is_array, is_literal, is_mapping, is_union
from limite.core.errors import did_you_mean

Read = Callable[[Any, Any], Any]


def register_shapes(converter: cattrs.Converter, read: Read) -> None:
    """The hooks of this file; ``read`` reads one value below another."""
    converter.register_structure_hook_func(is_literal, _literal)
    converter.register_structure_hook(Path, _path)
    converter.register_structure_hook_func(is_mapping, lambda data, t: _mapping(data, t, read))
    converter.register_structure_hook_func(is_array, lambda data, t: _array(data, t, read))
    converter.register_structure_hook_func(is_union, lambda data, t: _union(data, t, read))


def _union(data: Any, expected: Any, read: Read) -> Any:
    """``T | None``, or a choice that the kind of the value alone decides."""
    arms = arms_of(expected)
    if data is None and type(None) in arms:
        return None
    arms = [arm for arm in arms if arm is not type(None)]
    if len(arms) == 1:
        return read(data, arms[0])
    if isinstance(data, (Mapping, list, tuple)) or attrs.has(type(data)):
        shaped = [arm for arm in arms if arm not in STRICT_LEAVES]
        origin = sketch(data)
        exact = [arm for arm in shaped if origin is not None and arm is origin.origin]
        if exact or len(shaped) == 1:
            return read(data, (exact or shaped)[0])
    for arm in sorted(arms, key=lambda arm: arm is not type(data)):  # an int stays an int
        try:
            return read(data, arm)
        except Faults:
            continue
    names = " or ".join(getattr(arm, "__name__", str(arm)) for arm in arms)
    raise Faults([Fault((), f"expected {names}, got {describe(data)}")])


def _mapping(data: Any, expected: Any, read: Read) -> Any:
    if not isinstance(data, Mapping):
        raise Faults([Fault((), f"expected a table, got {describe(data)}")])
    arguments = get_args(expected)
    item_type = arguments[1] if arguments else Any
    faults: list[Fault] = []
    values: dict[str, Any] = {}
    for key, item in data.items():
        if not isinstance(key, str):
            faults.append(Fault((str(key),), f"keys are strings, got {describe(key)}"))
            continue
        with gathered(faults, key) as step:
            values[key] = read(item, item_type)
        if step.partial is not None:
            values[key] = step.partial
    if faults:
        raise Faults(faults, Rest(values, unread=[str(key) for key in data if key not in values]))
    return values


def _array(data: Any, expected: Any, read: Read) -> Any:
    if not isinstance(data, (list, tuple, set, frozenset)):
        raise Faults([Fault((), f"expected an array, got {describe(data)}")])
    origin = get_origin(expected) or expected
    arguments = get_args(expected)
    items = sorted(data, key=repr) if isinstance(data, (set, frozenset)) else list(data)
    fixed = origin is tuple and arguments and arguments[-1] is not Ellipsis
    if fixed and len(items) != len(arguments):
        message = f"expected an array of {len(arguments)} values, got {len(items)}"
        raise Faults([Fault((), message)])
    types = arguments if fixed else (arguments[0] if arguments else Any,) * len(items)
    faults: list[Fault] = []
    values: list[Any] = []
    for index, (item, item_type) in enumerate(zip(items, types, strict=True)):
        with gathered(faults, index):
            values.append(read(item, item_type))
    if faults:
        raise Faults(faults)
    if origin in (set, frozenset):
        return frozenset(values)
    return values if origin is list else tuple(values)


def _literal(data: Any, expected: Any) -> Any:
    choices = get_args(expected)
    for choice in choices:
        if type(choice) is type(data) and choice == data:
            return choice
    known = ", ".join(repr(choice) for choice in choices)
    words = [choice for choice in choices if isinstance(choice, str)]
    near = did_you_mean(data, words) if isinstance(data, str) else ""
    raise Faults([Fault((), f"must be one of {known}, got {data!r}{near}")])


def _path(data: Any, _expected: Any) -> Path:
    if not isinstance(data, (str, Path)):
        raise Faults([Fault((), f"expected a path, got {describe(data)}")])
    return Path(data)
