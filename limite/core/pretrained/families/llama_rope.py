"""The rotary fields of a Llama-like ``config.json``, in both spellings that are about.

Older files have ``rope_theta`` and ``rope_scaling``; those of transformers from 5.0 on have all of
it in ``rope_parameters``. A file may have both, if they say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from limite.core.errors import did_you_mean
from limite.core.model.llama.scaling import (
    LinearScaling,
    Llama3Scaling,
    NoScaling,
    RopeScaling,
    YarnScaling,
)

Refuse = Callable[[str, str], None]
"""Notes that a field is wrong, and why."""

FIELDS = ("rope_theta", "rope_scaling", "rope_parameters", "rope_interleaved")

TYPES: Mapping[str, type[RopeScaling]] = {
    "default": NoScaling,
    "linear": LinearScaling,
    "llama3": Llama3Scaling,
    "yarn": YarnScaling,
}

THEIRS = {"original_context": "original_max_position_embeddings", "mscale_all": "mscale_all_dim"}
"""What the files call the fields of ours that they call otherwise."""

OLD_BASE = 10_000.0
"""What a file means that says no base: from before there was a field for it."""


def read_rope(config: Mapping[str, Any], refuse: Refuse) -> tuple[float, RopeScaling]:
    """Base and scaling. What is wrong goes to ``refuse``; the result then means nothing."""
    wrong: list[tuple[str, str]] = []
    base, scaling = _read(config, lambda field, why: wrong.append((field, why)))
    if not wrong:  # half-read tables are not worth a comparison
        _compare(config, base, scaling, lambda field, why: wrong.append((field, why)))
    for field, why in wrong:
        refuse(field, why)
    return base, scaling


def _read(config: Mapping[str, Any], refuse: Refuse) -> tuple[float, RopeScaling]:
    if config.get("rope_interleaved", False) is not False:
        refuse("rope_interleaved", f"only False is implemented, got {config['rope_interleaved']!r}")
    old = _old(config, refuse)
    new = config.get("rope_parameters")
    if new is None:
        return (OLD_BASE, NoScaling()) if old is None else old
    if not isinstance(new, Mapping):
        refuse("rope_parameters", f"expected a table, got {new!r}")
        return OLD_BASE, NoScaling()
    base = new.get("rope_theta", config.get("rope_theta"))
    if base is None:
        refuse("rope_parameters.rope_theta", "missing")
        base = OLD_BASE
    return (
        _base("rope_parameters.rope_theta", base, refuse),
        _scaling("rope_parameters", new, refuse),
    )


def _compare(config: Mapping[str, Any], base: float, scaling: RopeScaling, refuse: Refuse) -> None:
    """Refuses an older spelling beside the newer one that says something else."""
    old = _old(config, refuse)
    if old is None:
        return
    # A field that is null says nothing.
    for field, one, other in (("rope_theta", old[0], base), ("rope_scaling", old[1], scaling)):
        if config.get(field) is not None and one != other:
            new = config.get("rope_parameters")
            refuse(field, f"contradicts rope_parameters: {config[field]!r}, {new!r}")


def _old(config: Mapping[str, Any], refuse: Refuse) -> tuple[float, RopeScaling] | None:
    """What ``rope_theta`` and ``rope_scaling`` say; None if neither is there."""
    base, scaling = config.get("rope_theta"), config.get("rope_scaling")
    if base is None and scaling is None:
        return None
    read = OLD_BASE if base is None else _base("rope_theta", base, refuse)
    if scaling is None:
        return read, NoScaling()
    if not isinstance(scaling, Mapping):
        refuse("rope_scaling", f"expected a table or null, got {scaling!r}")
        return read, NoScaling()
    if scaling.get("rope_theta", read) != read:
        refuse("rope_scaling.rope_theta", f"contradicts rope_theta: {scaling['rope_theta']!r}")
    return read, _scaling("rope_scaling", scaling, refuse)


def _base(field: str, value: Any, refuse: Refuse) -> float:
    if not is_number(value) or not 1 < value <= 1e12:
        refuse(field, f"expected a number above 1 and at most 1e12, got {value!r}")
        return OLD_BASE
    return float(value)


def _scaling(field: str, table: Mapping[str, Any], refuse: Refuse) -> RopeScaling:
    names = {table[key] for key in ("rope_type", "type") if isinstance(table.get(key), str)}
    given = [key for key in ("rope_type", "type") if key in table]
    if not given:
        refuse(f"{field}.rope_type", "missing")
        return NoScaling()
    if len(names) != 1 or any(not isinstance(table[key], str) for key in given):
        refuse(f"{field}.rope_type", f"expected one name, got {[table[key] for key in given]!r}")
        return NoScaling()
    (name,) = names
    if name not in TYPES:
        known = ", ".join(map(repr, TYPES))
        near = did_you_mean(name, TYPES)
        refuse(f"{field}.rope_type", f"only {known} are implemented, got {name!r}{near}")
        return NoScaling()
    return _table(field, table, TYPES[name], refuse)


def _table(
    field: str, table: Mapping[str, Any], cls: type[RopeScaling], refuse: Refuse
) -> RopeScaling:
    ours = {THEIRS.get(each.name, each.name): each for each in attrs.fields(cls)}
    known = {*ours, "rope_type", "type", "rope_theta", "partial_rotary_factor"}
    wrong = False
    for key in sorted(set(table) - known):
        refuse(f"{field}.{key}", f"unknown field{did_you_mean(key, known)}")
        wrong = True
    if table.get("partial_rotary_factor", 1.0) not in (1, 1.0):
        got = table["partial_rotary_factor"]
        refuse(f"{field}.partial_rotary_factor", f"only 1.0 is implemented, got {got!r}")
        wrong = True
    values: dict[str, Any] = {}
    for key, each in ours.items():
        value = table.get(key)
        if value is None:
            if each.default is attrs.NOTHING or key in ("low_freq_factor", "high_freq_factor"):
                refuse(f"{field}.{key}", "missing")
                wrong = True
            continue
        kind = {"truncate": bool, "original_context": int}.get(each.name, float)
        fits = isinstance(value, bool) if kind is bool else is_number(value)
        if not fits or (kind is int and not isinstance(value, int)):
            words = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
            refuse(f"{field}.{key}", f"expected {words}, got {value!r}")
            wrong = True
            continue
        values[each.name] = kind(value)
    if wrong:
        return NoScaling()
    try:
        return cls(**values)
    except ValueError as error:
        refuse(field, str(error))
        return NoScaling()


def write_rope(base: float, scaling: RopeScaling) -> dict[str, Any]:
    """The fields in both spellings, so that older readers and newer ones find theirs."""
    name = next(name for name, cls in TYPES.items() if cls is type(scaling))
    table: dict[str, Any] = {"rope_type": name}
    for each in attrs.fields(type(scaling)):
        value = getattr(scaling, each.name)
        if value is not None:
            table[THEIRS.get(each.name, each.name)] = value
    return {
        "rope_theta": base,
        "rope_scaling": None if isinstance(scaling, NoScaling) else table,
        "rope_parameters": {"rope_theta": base, **table},
    }


def is_number(value: Any) -> bool:
    """Whether it is a number, and not by way of True being 1."""
    return isinstance(value, int | float) and not isinstance(value, bool)
