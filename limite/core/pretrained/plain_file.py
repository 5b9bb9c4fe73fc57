"""Files of a directory that may come from anywhere: plain ones, inside it, of a sensible size."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import storage_error


@contextlib.contextmanager
def reading(path: Path) -> Iterator[FileIO]:
    """A file, for as long as a ``with`` lasts; a pipe, a device or a folder is refused."""
    try:
        # Without waiting: a pipe would keep its reader until somebody writes.
        with open(path, "rb", buffering=0, opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise LimiteError(f"{path}: expected a file, got a pipe, a device or a folder")
            yield file
    except FileNotFoundError as error:
        beside = [name for name in _names(path.parent) if name.endswith(path.suffix)]
        raise LimiteError(f"{path}: no such file{did_you_mean(path.name, beside)}") from error
    except OSError as error:
        raise storage_error(error, path) from error


def require_inside(file: Path) -> None:
    """Refuses a link that leads out of the file's directory.

    A hub cache keeps a model as links from ``snapshots/REVISION`` to the ``blobs`` beside
    ``snapshots``; those count as inside.
    """
    try:
        folder, target = file.parent.resolve(), file.resolve()
    except (OSError, RuntimeError) as error:
        raise LimiteError(f"{file}: a link that leads nowhere") from error
    inside = [folder]
    if folder.parent.name == "snapshots":
        inside.append(folder.parent.parent / "blobs")
    if target.parent not in inside:
        raise LimiteError(f"{file}: a link that leads out of its directory, to {target}")


def is_there(path: Path) -> bool:
    """Whether something has that name, be it a link that leads nowhere."""
    return os.path.lexists(path)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        # It is only for a hint.
        return []
