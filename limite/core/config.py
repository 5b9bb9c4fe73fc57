"""Settings as plain data: attrs values to tables and back, strictly, with every mistake at once.

Plain data is what TOML can hold: tables, arrays, strings, numbers and booleans. Nothing is
converted silently; the one exception is an int where a float is wanted. A component is its name,
or a table with ``type``; a field that is None is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import attrs
import cattrs
from cattrs.errors import BaseValidationError, StructureHandlerNotFoundError

from limite.core.config_faults import (
    Fault,
    Faults,
    Key,
    Place,
    Rest,
    dotted,
    gathered,
    unknown_key,
)
from limite.core.config_fields import (
    Table,
    allows_non_finite,
    checked,
    contradictions,
    expanded,
    field_types,
    raw_default,
    refused,
    sketch,
    tag_of,
    tags_of,
)
from limite.core.config_leaves import STRICT_LEAVES, describe
from limite.core.config_shapes import Read, register_shapes
from limite.core.config_types import a_kind, arms_of, component_kind, is_attrs
from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean, sentence
from limite.core.kinds import KINDS

T = TypeVar("T")
Locate = Callable[[tuple[Key, ...]], Place]


class Entry(Protocol):
    """What settings need of a registered component."""

    def load(self) -> type: ...


class Components(Protocol):
    """What settings need of the registry."""

    def get(self, kind: str, name: str, /) -> Entry: ...

    def names(self, kind: str, /) -> Iterable[str]: ...

    def name_of(self, cls: type, /) -> str: ...


def structure(data: Any, cls: type[T], registry: Components, *, locate: Locate | None = None) -> T:
    """The value of ``cls`` that ``data`` says, names of components resolved.

    ``data`` is plain data, or a value whose fields are to be checked and resolved. A SettingsError
    lists every mistake; ``locate`` tells the file and line of a path.
    """
    try:
        return read(data, cls, registry)
    except Faults as found:
        raise SettingsError(mistakes(found.faults, locate or (lambda _path: Place()))) from None


def read(data: Any, cls: type[T], registry: Components) -> T:
    """Like ``structure``, but what is wrong is raised as Faults, whose paths are still tuples."""
    return converter(registry).structure(data, cls)


def unstructure(value: Any, registry: Components) -> Any:
    """Plain data with every field written, which ``structure`` reads back to an equal value."""
    if attrs.has(type(value)):
        return _table(value, registry)
    if isinstance(value, Mapping):
        return {key: unstructure(item, registry) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [unstructure(item, registry) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(unstructure(item, registry) for item in value)
    if isinstance(value, Path):
        return str(value)
    return value


def _table(value: Any, registry: Components) -> dict[str, Any]:
    cls = type(value)
    name = type_name(cls, registry)
    table: dict[str, Any] = {} if name is None else {"type": name}
    for field in attrs.fields(cls):
        if not field.init:
            continue
        item = getattr(value, field.name)
        if item is not None:
            table[str(field.alias)] = unstructure(item, registry)
        elif field.default is not None:
            raise LimiteError(
                f"{cls.__name__}.{field.name} is None but defaults to something else, and settings"
                " files cannot say None; let an optional field default to None"
            )
    return table


def type_name(cls: type, registry: Components) -> str | None:
    """What ``type`` says of a class in plain data; None for plain settings."""
    tags = tags_of(cls)
    if tags is not None:
        return next((tag for tag, tagged in tags.items() if tagged is cls), None)
    try:
        return registry.name_of(cls)
    except LimiteError:
        return None


def mistakes(faults: Iterable[Fault], locate: Locate) -> list[Mistake]:
    """Faults with their places, in the order of the lines.

    What is written once and used in several stages is wrong once: it is told for the first.
    """
    found: dict[tuple[Any, ...], Mistake] = {}
    for fault in faults:
        place = locate(fault.path)
        where = fault.path if place.line is None else fault.path[-1:]
        mistake = Mistake(fault.message, dotted(fault.path), place.file, place.line)
        found.setdefault((place, where, fault.message), mistake)
    return sorted(found.values(), key=lambda mistake: (mistake.file or "", mistake.line or 0))


def converter(registry: Components) -> cattrs.Converter:
    """The cattrs converter behind ``structure``: it raises Faults, all of a value's at once."""
    made = cattrs.Converter(forbid_extra_keys=True)
    for leaf, hook in STRICT_LEAVES.items():
        made.register_structure_hook(leaf, hook)

    def read_value(value: Any, expected: Any) -> Any:
        """One value below another; what cattrs itself refuses becomes a fault as well."""
        try:
            return made.structure(value, expected)
        except (BaseValidationError, ValueError) as error:
            raise Faults([Fault((), str(error))]) from None
        except StructureHandlerNotFoundError:
            raise LimiteError(f"settings cannot hold a field of type {expected}") from None

    def read_attrs(data: Any, cls: Any) -> Any:
        tags = vars(cls).get("kinds")
        if isinstance(tags, Mapping):  # a class may have a field of that name as well
            cls, data = _tagged(data, cls, tags)
        return _structure_attrs(data, cls, read_value)

    def read_component(data: Any, expected: Any) -> Any:
        if data is None and type(None) in arms_of(expected):
            return None
        kind = component_kind(expected)
        assert kind is not None
        cls, settings = _component(data, kind, registry)
        return _structure_attrs(settings, cls, read_value)

    made.register_structure_hook_func(is_attrs, read_attrs)
    register_shapes(made, read_value)
    made.register_structure_hook_func(lambda t: component_kind(t) is not None, read_component)
    return made


def _structure_attrs(data: Any, cls: Any, read: Read) -> Any:
    """Every field read and every validator run, so that one mistake does not hide another."""
    table = sketch(data)
    if table is None or (table.origin is not None and not issubclass(table.origin, cls)):
        raise Faults([Fault((), f"expected {_named(cls)}, got {describe(data)}")])
    fields = {str(field.alias): field for field in attrs.fields(cls) if field.init}
    faults = [
        Fault((key,), unknown_key(cls, str(key), did_you_mean(str(key), fields)))
        for key in table
        if key not in fields
    ]
    partial = object.__new__(cls)
    values = _read_fields(table, cls, partial, faults, read)
    wrong: dict[str, Rest | None] = {}
    for alias, value in values.items():
        field = fields[alias]
        told = checked(partial, field, value, incomplete=bool(faults))
        if told is not None:
            faults.append(Fault((alias,), told[0]))
            wrong[alias] = told[1]
    if faults:
        for alias, rest in wrong.items():
            if rest is None:
                object.__delattr__(partial, fields[alias].name)
            else:
                object.__setattr__(partial, fields[alias].name, rest)
        sound = {fields[alias].name: v for alias, v in values.items() if alias not in wrong}
        raise Faults([*faults, *contradictions(cls, sound)], partial)
    try:
        return cls(**values)
    except (ValueError, TypeError, LimiteError) as error:
        raise Faults(refused(error, cls), partial) from None
    except Exception as error:  # a plugin's class may fail in any way at all
        message = f"{cls.__name__} cannot be made: {sentence(error)}"
        raise Faults([Fault((), message)], partial) from error


def _read_fields(
    table: Table, cls: Any, partial: Any, faults: list[Fault], read: Read
) -> dict[str, Any]:
    """The fields that can be read, by keyword and on ``partial``; the others add to ``faults``."""
    types = field_types(cls)
    offers = " ".join(fault.message for fault in faults)  # a misspelt key is not missing as well
    values: dict[str, Any] = {}
    for field in attrs.fields(cls):
        alias = str(field.alias)
        if not field.init:
            continue
        if alias not in table and field.default is attrs.NOTHING:
            if f"did you mean {alias!r}?" not in offers:
                faults.append(Fault((alias,), "missing"))
            continue
        raw = table[alias] if alias in table else raw_default(field, partial)
        if allows_non_finite(field) and isinstance(raw, float):
            value = raw
        else:
            with gathered(faults, alias) as step:
                value = read(expanded(field, raw), types[field.name])
            if step.failed:
                if step.partial is not None:
                    object.__setattr__(partial, field.name, step.partial)
                continue
        values[alias] = value
        object.__setattr__(partial, field.name, value)
    return values


def _tagged(data: Any, base: type, tags: Mapping[str, type]) -> tuple[type, Any]:
    """The class that ``type`` picks of a closed set, and the settings without it."""
    table = sketch(data)
    if table is None:
        raise Faults([Fault((), f"expected {_named(base)}, got {describe(data)}")])
    if table.origin is not None:
        if table.origin not in tags.values():
            raise Faults([Fault((), f"expected {_named(base)}, got {describe(data)}")])
        return table.origin, table
    known = ", ".join(repr(tag) for tag in tags)
    tag = tag_of(table, base)
    if tag is None:
        raise Faults([Fault(("type",), f"missing; one of {known}")])
    if not isinstance(tag, str) or tag not in tags:
        near = did_you_mean(tag, tags) if isinstance(tag, str) else ""
        raise Faults([Fault(("type",), f"must be one of {known}, got {tag!r}{near}")])
    return tags[tag], Table({key: item for key, item in table.items() if key != "type"})


def _component(data: Any, kind: str, registry: Components) -> tuple[type, Table]:
    """The class of a component and its settings, from a name, a table or an instance."""
    if isinstance(data, str):
        return component_class(kind, data, registry), Table({})
    table = sketch(data)
    if table is None:
        message = f"expected {a_kind(kind)} (a name, or a table with 'type'), got "
        raise Faults([Fault((), message + describe(data))])
    if table.origin is not None:
        name = type_name(table.origin, registry)
        if name is None:
            message = f"{table.origin.__name__} is not registered as {a_kind(kind)} by any plugin"
            raise Faults([Fault((), message)])
        if name not in registry.names(kind) or (
            component_class(kind, name, registry) is not table.origin
        ):
            raise Faults([Fault((), f"expected {a_kind(kind)}, got {describe(data)}")])
        return table.origin, table
    if "type" not in table:
        raise Faults([Fault((), f"{a_kind(kind)} needs a 'type'" + _choice(kind, registry))])
    if not isinstance(table["type"], str):
        raise Faults([Fault(("type",), f"expected str, got {describe(table['type'])}")])
    try:
        cls = component_class(kind, table["type"], registry)
    except Faults as found:
        raise Faults(fault.under("type") for fault in found.faults) from None
    return cls, Table({key: item for key, item in table.items() if key != "type"})


def component_class(kind: str, name: str, registry: Components) -> type:
    """The class registered under ``name``; Faults name the nearest right word."""
    try:
        return registry.get(kind, name).load()
    except LimiteError as error:
        others = [other for other in KINDS if other != kind and name in registry.names(other)]
        if others:
            near = did_you_mean(name, registry.names(kind)) or _choice(kind, registry)
            message = f"{name!r} is {a_kind(others[0])}, not {a_kind(kind)}{near}"
            raise Faults([Fault((), message)]) from None
        raise Faults([Fault((), str(error))]) from None


def _choice(kind: str, registry: Components) -> str:
    names = ", ".join(repr(name) for name in sorted(registry.names(kind)))
    return f"; one of {names}" if names else ""


def _named(cls: type) -> str:
    return f"a table ({cls.__name__})"
