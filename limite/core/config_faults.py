"""Faults found while settings are read: collected with their paths, told all at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

Key = str | int


@attrs.frozen
class Place:
    """Where a setting stands: a file (or a command-line option) and a line from 1, if known."""

    file: str | None = None
    line: int | None = None


@attrs.frozen
class Fault:
    """What is wrong with one setting, the path seen from the value that is being read."""

    path: tuple[Key, ...]
    message: str

    def under(self, *keys: Key) -> Fault:
        return Fault((*keys, *self.path), self.message)


class Faults(Exception):
    """Everything wrong with one value.

    ``partial`` is what could be read of it: a settings value that lacks the fields with faults, or
    a table of such values. None when nothing could be.
    """

    def __init__(self, faults: Iterable[Fault], partial: Any = None) -> None:
        self.faults: Sequence[Fault] = tuple(faults)
        self.partial = partial
        super().__init__("; ".join(fault.message for fault in self.faults))


class Rest(dict[str, Any]):
    """What could be read of a table of values, of which some are wrong; of those that are
    ``unread`` nothing could be."""

    def __init__(self, values: Mapping[str, Any], unread: Iterable[str] = ()) -> None:
        super().__init__(values)
        self.unread = tuple(unread)


@attrs.define
class Step:
    """How one read below another went."""

    failed: bool = False
    partial: Any = None


def unknown_key(cls: type, key: str, near: str) -> str:
    """Why ``key`` is no setting of ``cls``, which may say so itself; or which one is ``near``.

    ``not_settings`` of a class (optional) gives reasons by the names that people may look for.
    """
    reasons: Mapping[str, str] = getattr(cls, "not_settings", {})
    return f"is no setting: {reasons[key]}" if key in reasons else f"unknown key{near}"


@contextmanager
def gathered(faults: list[Fault], *keys: Key) -> Iterator[Step]:
    """Adds what is raised inside to ``faults``, under ``keys``, and goes on."""
    step = Step()
    try:
        yield step
    except Faults as found:
        step.failed, step.partial = True, found.partial
        faults.extend(fault.under(*keys) for fault in found.faults)


def dotted(path: Sequence[Key]) -> str:
    """``stages.rl.optimizer.lr``, ``loggers[0]``; keys that TOML would quote are quoted."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
            continue
        bare = re.fullmatch(r"[A-Za-z0-9_-]+", key) is not None
        text += ("." if text else "") + (key if bare else json.dumps(key, ensure_ascii=False))
    return text
