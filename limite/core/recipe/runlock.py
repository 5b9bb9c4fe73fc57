"""One writer to a run: a lock that the kernel takes back when its process dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from limite.core.errors import LimiteError
from limite.core.jsonl import storage_error

_LOCK = ".lock"
_held: set[str] = set()


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Holds the lock of ``folder``; a LimiteError that names the process if another holds it.

    A record lock, not ``flock``: a forked worker that outlives a killed run must not go on holding
    it. Such locks do not keep a process from itself, so it also remembers its own.
    """
    place = folder / _LOCK
    key = str(folder.resolve())
    if key in _held:
        raise LimiteError(f"{folder}: this process (pid {os.getpid()}) is already writing this run")
    try:
        file = _acquire(folder, place)
    except OSError as error:
        raise storage_error(error, place) from error
    _held.add(key)
    try:
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            raise storage_error(error, place, "free some space, or choose another --out") from error
        yield
    finally:
        _held.discard(key)
        place.unlink(missing_ok=True)
        os.close(file)


def _acquire(folder: Path, place: Path) -> int:
    while True:
        file = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pid = os.pread(file, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(file)
            raise LimiteError(
                f"{folder}: process {pid} is writing this run; let it end or stop it first"
            ) from None
        # Its holder may have removed the file in between: then the lock is on nothing.
        try:
            if os.path.samestat(os.fstat(file), place.stat()):
                return file
        except FileNotFoundError:
            pass
        os.close(file)
