"""Folders of runs: made whole under a name that is free, or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import storage_error, sync_directory

_CREATING = ".creating-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def make_folder(root: Path, name: str | None, wanted: str, fill: Callable[[Path], None]) -> Path:
    """Makes ``root/name``, or ``root/wanted`` with ``-2``, ``-3``... if that is taken.

    The folder appears with all that ``fill`` puts into it, or not at all. A ``name`` that is given
    and exists is an error: nothing is ever overwritten.
    """
    _refuse_odd_name(name)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _folder_aside(root) as aside:
            fill(aside)
            path = _claim(aside, root, name, wanted)
            sync_directory(root)
    except (OSError, RunFailed) as raised:
        error = raised if isinstance(raised, OSError) else raised.__cause__
        assert isinstance(error, OSError)
        raise storage_error(error, root, "choose another disk with --out") from error
    return path


def _refuse_odd_name(name: str | None) -> None:
    """Refuses what no folder of a run is called."""
    if name is not None and (not _NAME.fullmatch(name) or name.endswith(".")):
        raise LimiteError(
            f"--name: at most 100 letters, digits, '.', '-' and '_', got {name!r}; "
            "the folder it goes into is --out"
        )


@contextlib.contextmanager
def _folder_aside(root: Path) -> Iterator[Path]:
    """A new folder that is gone at the end unless it was renamed; one at a time in ``root``."""
    file = os.open(root, os.O_RDONLY)
    try:
        # Whoever has the lock knows that what stands aside was left by a killed process.
        fcntl.flock(file, fcntl.LOCK_EX)
        for leftover in root.glob(f"{_CREATING}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        aside = root / f"{_CREATING}{secrets.token_hex(4)}"
        aside.mkdir()
        try:
            yield aside
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    finally:
        os.close(file)


def _claim(aside: Path, root: Path, name: str | None, wanted: str) -> Path:
    """Renames ``aside`` to a name that is free: taking a name and filling it are one act."""
    number = 1
    while True:
        path = root / (name or (wanted if number == 1 else f"{wanted}-{number}"))
        try:
            # An empty folder would let itself be replaced.
            if not path.exists():
                return aside.rename(path)
        except OSError:
            # Another process took the name in this moment.
            if not path.exists():
                raise
        if name is not None:
            raise LimiteError(
                f"--name: {path} exists and is never overwritten; choose another name, "
                f"or go on with it: limite resume {path}"
            )
        number += 1


def without_none(value: Any) -> Any:
    """TOML has no null: what is None is not written."""
    if isinstance(value, Mapping):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [without_none(item) for item in value]
    return value


def read_toml(place: Path) -> dict[str, Any]:
    """A TOML file; a LimiteError where it is none."""
    try:
        return tomllib.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise storage_error(error, place) from error
    except ValueError as error:
        raise LimiteError(f"{place}: not TOML: {error}") from error
