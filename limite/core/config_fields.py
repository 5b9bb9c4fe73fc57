"""The fields of settings classes: their types, defaults and validators."""

from __future__ import annotations

import importlib
import math
import re
import typing
from collections.abc import Mapping
from typing import Any

import attrs

from limite.core.config_faults import Fault, Faults, Rest
from limite.core.errors import LimiteError, SettingsError, sentence
from limite.core.validators import SomeWrong


class Table(dict[str, Any]):
    """Plain settings; ``origin`` is the class they came from when they were a value already."""

    origin: type | None

    def __init__(self, items: Mapping[str, Any], origin: type | None = None) -> None:
        super().__init__(items)
        self.origin = origin


def sketch(data: Any) -> Table | None:
    """Data as a table: a mapping as it is, a settings value by its fields, else None."""
    if isinstance(data, Table):
        return data
    if isinstance(data, Mapping):
        return Table(data)
    if attrs.has(type(data)):
        fields = [field for field in attrs.fields(type(data)) if field.init]
        return Table({str(f.alias): getattr(data, f.name) for f in fields}, type(data))
    return None


def tags_of(cls: type) -> Mapping[str, type] | None:
    """The closed set a class belongs to: what ``kinds`` says on its base (``Stage.kinds``)."""
    for base in cls.__mro__:
        kinds = vars(base).get("kinds")
        if isinstance(kinds, Mapping):
            return kinds
    return None


def tag_of(table: Table, base: type) -> Any:
    """What ``type`` says in a table, or else what the base says of tables that lack it."""
    return table.get("type", vars(base).get("default_kind"))


def field_types(cls: type) -> dict[str, Any]:
    """The annotation of every field as a type."""
    try:
        hints = typing.get_type_hints(cls)
    except NameError as error:
        raise LimiteError(
            f"the settings of {cls.__module__}.{cls.__qualname__} cannot be read: {error};"
            " import the types of its fields at run time, not under TYPE_CHECKING"
        ) from None
    return {field.name: hints.get(field.name, Any) for field in attrs.fields(cls)}


def raw_default(field: attrs.Attribute[Any], partial: Any) -> Any:
    """The default of a field; a factory is called."""
    default: Any = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        return default.factory(partial) if default.takes_self else default.factory()
    return default


def expanded(field: attrs.Attribute[Any], raw: Any) -> Any:
    """The settings that a name stands for, where the field's ``named`` says who knows them.

    ``metadata={"named": "package.module:function"}`` names a function from the name to the value.
    """
    target = field.metadata.get("named")
    if target is None or not isinstance(raw, str):
        return raw
    module, _, function = target.partition(":")
    try:
        return getattr(importlib.import_module(module), function)(raw)
    except LimiteError as error:
        raise Faults([Fault((), str(error))]) from None


def allows_non_finite(field: attrs.Attribute[Any]) -> bool:
    """Whether infinity means something here: its default is infinite, or ``finite`` is False."""
    default = field.default
    infinite = isinstance(default, float) and not math.isfinite(default)
    return infinite or field.metadata.get("finite") is False


def checked(
    partial: Any, field: attrs.Attribute[Any], value: Any, *, incomplete: bool
) -> tuple[str, Rest | None] | None:
    """What the validator of a field says against ``value``, and what is sound of it; or None.

    ``partial`` has the fields that could be read. A validator that compares with one that could
    not be is left for the next time: the other mistake comes first.
    """
    if field.validator is None or field.converter is not None:
        return None  # what a converter makes of the value is checked when it is made
    try:
        field.validator(partial, field, value)
    except (ValueError, TypeError, LimiteError) as error:
        rest = Rest(error.rest) if isinstance(error, SomeWrong) else None
        return _plain(_message(error), field.name), rest
    except Exception as error:  # a plugin's validator may fail in any way at all
        if not incomplete:
            return sentence(error), None
    return None


def refused(error: Exception, cls: type) -> list[Fault]:
    """What a settings class says against its own fields, one line for each contradiction.

    A line that begins with a field's name in quotes is told at that field.
    """
    if isinstance(error, SettingsError):
        return [
            Fault((mistake.path,) if mistake.path else (), mistake.message)
            for mistake in error.mistakes
        ]
    names = {field.name: str(field.alias) for field in attrs.fields(cls)}
    faults = []
    for line in _message(error).splitlines():
        quoted = re.match(r"'(\w+)' ", line)
        at_field = quoted is not None and quoted[1] in names
        path = (names[quoted[1]],) if quoted is not None and at_field else ()
        faults.append(Fault(path, _plain(line, quoted[1]) if quoted is not None else line))
    return faults or [Fault((), type(error).__name__)]


def _message(error: Exception) -> str:
    """The sentence of an exception; attrs puts more beside it."""
    return str(error.args[0]) if error.args else str(error)


def contradictions(cls: type, values: Mapping[str, Any]) -> list[Fault]:
    """What a settings class says of its fields together, when only ``values`` could be read.

    The other fields have their defaults meanwhile, and what is said of those does not count.
    """
    check = getattr(cls, "__attrs_post_init__", None)
    if check is None:
        return []
    stand_in: Any = object.__new__(cls)
    unread = set()
    for field in attrs.fields(cls):
        if field.name in values:
            object.__setattr__(stand_in, field.name, values[field.name])
            continue
        unread.add(str(field.alias))
        if field.default is not attrs.NOTHING:
            object.__setattr__(stand_in, field.name, raw_default(field, stand_in))
    try:
        check(stand_in)
    except (ValueError, LimiteError) as error:
        return [
            fault
            for fault in refused(error, cls)
            if not unread.intersection((*fault.path, *re.findall(r"'(\w+)'", fault.message)))
        ]
    except (AttributeError, TypeError, ArithmeticError, LookupError):
        return []
    return []


def _plain(message: str, name: str) -> str:
    """A validator's sentence without the name, which the path says already."""
    quoted = re.escape(name)
    told = re.fullmatch(rf"'{quoted}' must be ([<>]=? \S+): (.*)", message, flags=re.DOTALL)
    if told:
        return f"must be {told[1]}, got {told[2]}"
    return re.sub(rf"^'{quoted}' (?=must|needs)", "", message)
