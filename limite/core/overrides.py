"""``--set stages.rl.optimizer.lr=2e-5``: one setting of a recipe, changed from the command line."""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

import attrs

from limite.core.config import Components, component_class
from limite.core.config_faults import Fault, Faults, Key, unknown_key
from limite.core.config_fields import (
    Table,
    expanded,
    field_types,
    raw_default,
    sketch,
    tag_of,
    tags_of,
)
from limite.core.config_types import arms_of, component_kind, is_array, is_attrs, is_mapping
from limite.core.errors import LimiteError, did_you_mean

_KEY = re.compile(r'\s*(?:([A-Za-z0-9_/-]+)|("(?:\\.|[^"\\])*")|\'([^\']*)\')\s*')
_INDEX = re.compile(r"\[(\d+)\]\s*")


@attrs.frozen
class Override:
    """One ``--set``: the option's text, the path it names and the value it gives."""

    text: str
    path: tuple[Key, ...]
    value: Any

    @property
    def place(self) -> str:
        """What stands where a file name would, in an error."""
        return "--set " + self.text.replace("\n", "\\n")


def parse_override(text: str) -> Override:
    """``PATH=VALUE``; the value is a TOML literal, or else the string that it is."""
    keys, rest = _path(text)
    if not keys or not rest.startswith("="):
        raise LimiteError(
            f"--set {text}: expected PATH=VALUE, such as --set stages.rl.optimizer.lr=2e-5"
        )
    return Override(text=text, path=tuple(keys), value=_literal(rest[1:].strip(), text))


def _path(text: str) -> tuple[list[Key], str]:
    """The keys in front of the equals sign, and what follows them."""
    keys: list[Key] = []
    at = 0
    while match := _KEY.match(text, at):
        bare, quoted, plain = match.groups()
        keys.append(bare or plain or (json.loads(quoted) if quoted else ""))
        at = match.end()
        while index := _INDEX.match(text, at):
            keys.append(int(index[1]))
            at = index.end()
        if text[at : at + 1] != ".":
            return keys, text[at:]
        at += 1
    return [], text


def _literal(text: str, written: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except ValueError:  # no TOML, or a number of thousands of digits
        return text
    except RecursionError:
        raise LimiteError(f"--set {written[:60]}...: arrays are nested too deeply") from None
    value = parsed.pop("value")
    dated = isinstance(value, (datetime.date, datetime.time))
    return text if parsed or dated else value


def apply_overrides(
    data: Any, overrides: Sequence[Override], cls: type, registry: Components
) -> tuple[Any, list[tuple[Override, Fault]]]:
    """``data`` with every override put in, and those that name no setting with the reason.

    A component given by name, or not given at all, becomes a table when one of its settings is
    set. ``type`` names another component, which starts from its own defaults.
    """
    refused: list[tuple[Override, Fault]] = []
    for override in overrides:
        try:
            data = _put(data, cls, override.path, override.value, registry)
        except Faults as found:
            refused.extend((override, fault) for fault in found.faults)
    return data, refused


def _put(value: Any, expected: Any, keys: tuple[Key, ...], new: Any, registry: Components) -> Any:
    """``value`` with ``new`` at ``keys``; unchanged when a mistake of its own is in the way."""
    if not keys:
        return new
    arms = [arm for arm in arms_of(expected) if arm is not type(None)]
    kind = component_kind(expected)
    shape = next((arm for arm in arms if is_attrs(arm) or is_mapping(arm) or is_array(arm)), None)
    if kind is not None:
        return _put_component(value, kind, keys, new, registry)
    if is_attrs(shape):
        return _put_settings(value, shape, keys, new, registry)
    if is_mapping(shape):
        return _put_entry(value, shape, keys, new, registry)
    if is_array(shape):
        return _put_item(value, shape, keys, new, registry)
    raise Faults([Fault(keys[:1], "there are no settings below this one")])


def _below(value: Any, expected: Any, keys: tuple[Key, ...], new: Any, registry: Components) -> Any:
    try:
        return _put(value, expected, keys[1:], new, registry)
    except Faults as found:
        raise Faults(fault.under(keys[0]) for fault in found.faults) from None


def _put_component(
    value: Any, kind: str, keys: tuple[Key, ...], new: Any, registry: Components
) -> Any:
    if keys == ("type",):
        return Table({"type": new})
    if value is None:
        names = ", ".join(repr(name) for name in sorted(registry.names(kind)))
        raise Faults([Fault((), f"no {kind} is chosen yet; set it to one of {names}")])
    table = Table({"type": value}) if isinstance(value, str) else sketch(value)
    if table is None:
        return value
    name = table.get("type")
    cls = table.origin
    if cls is None:
        try:
            cls = component_class(kind, name, registry) if isinstance(name, str) else None
        except Faults:
            cls = None
    return value if cls is None else _put_field(table, cls, keys, new, registry)


def _put_settings(
    value: Any, cls: Any, keys: tuple[Key, ...], new: Any, registry: Components
) -> Any:
    table = sketch({} if value is None else value)
    if table is None:
        return value
    tags = vars(cls).get("kinds")
    picked = table.origin or cls
    if tags is not None:
        if keys == ("type",):
            return Table({"type": new, **{k: v for k, v in table.items() if k != "type"}})
        if table.origin is None and tag_of(table, cls) not in tags:
            return value
        picked = table.origin or tags[tag_of(table, cls)]
    return _put_field(table, picked, keys, new, registry)


def _put_field(
    table: Table, cls: type, keys: tuple[Key, ...], new: Any, registry: Components
) -> Table:
    fields = {str(field.alias): field for field in attrs.fields(cls) if field.init}
    key = keys[0]
    if not isinstance(key, str) or key not in fields:
        tagged = tags_of(cls) is not None
        known = [*fields, "type"] if "type" in table or tagged else list(fields)
        near = did_you_mean(str(key), known) or _listed(known)
        raise Faults([Fault((key,), unknown_key(cls, str(key), near))])
    field = fields[key]
    if key in table:
        current = table[key]
    else:
        current = None
        if field.default is not attrs.NOTHING:
            current = raw_default(field, object.__new__(cls))
    if len(keys) > 1:
        try:
            current = expanded(field, current)
        except Faults:
            return table  # an unknown name is told when the settings are read
    changed = _below(current, field_types(cls)[field.name], keys, new, registry)
    return Table({**table, key: changed}, table.origin)


def _put_entry(
    value: Any, expected: Any, keys: tuple[Key, ...], new: Any, registry: Components
) -> Any:
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        return value
    item_type = (get_args(expected) or (str, Any))[1]
    key = str(keys[0])
    if key not in value and (len(keys) > 1 or is_attrs(item_type)):
        near = did_you_mean(key, value)
        raise Faults([Fault((key,), "unknown key" + (near or _listed(list(value))))])
    return {**value, key: _below(value.get(key), item_type, (key, *keys[1:]), new, registry)}


def _put_item(
    value: Any, expected: Any, keys: tuple[Key, ...], new: Any, registry: Components
) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    key = keys[0]
    index = int(key) if isinstance(key, int) or key.isdecimal() else -1
    if not 0 <= index < len(value):
        allowed = f"0 to {len(value) - 1}" if value else "none: the array is empty"
        raise Faults([Fault((key,), f"no such place in the array; there are {allowed}")])
    arguments = get_args(expected)
    repeated = get_origin(expected) is not tuple or arguments[-1:] == (Ellipsis,)
    item_type = (arguments[0] if repeated else arguments[index]) if arguments else Any
    items = list(value)
    items[index] = _below(items[index], item_type, (index, *keys[1:]), new, registry)
    return items


def _listed(names: Sequence[str]) -> str:
    return f"; there are {', '.join(repr(name) for name in names)}" if names else ""


def culprit(
    path: Sequence[Key], overrides: Sequence[Override], *, message: str | None = None
) -> Override | None:
    """The override a mistake at ``path`` comes from.

    The last one that gave this setting or what holds it. A mistake that was not there before has
    its ``message`` given, and may come from a setting beside it: a limit may span several.
    """
    for override in reversed(overrides):
        if tuple(path[: len(override.path)]) == override.path:
            return override
    if message is None:
        return None
    near = [(_nearness(path, override, message), override) for override in overrides]
    best = max(near, key=lambda pair: pair[0], default=((False, 0), None))
    return best[1] if best[0][1] else None


def _nearness(path: Sequence[Key], override: Override, message: str) -> tuple[bool, int]:
    """Whether the message speaks of the setting, and how many keys the paths share."""
    shared = 0
    for ours, theirs in zip(path, override.path, strict=False):
        if ours != theirs:
            break
        shared += 1
    return f"'{override.path[-1]}'" in message, shared
