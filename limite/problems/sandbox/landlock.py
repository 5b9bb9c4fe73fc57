"""Landlock: the kernel lets a process reach the named folders and nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterable

from limite.problems.sandbox import kernel

_VERSION = 1
_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_FILES_ONLY = 1 | _WRITE_FILE | _READ_FILE | 1 << 14 | 1 << 15
# The rights on files that each version of the interface knows, by their number.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_EXECUTE, _CHARACTER, _SOCKET, _BLOCK, _DEVICE = 1 << 0, 1 << 6, 1 << 9, 1 << 11, 1 << 15


def version() -> int:
    """The interface that this kernel offers, 0 where it offers none."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def ruleset(readable: Iterable[str], writable: Iterable[str]) -> int:
    """A descriptor of rules: files to read, folders to write in, no network, no signals outside.

    Only rights that the kernel knows are asked for. Paths that do not exist are left out.
    """
    found = version()
    rights = (1 << _RIGHTS[min(found, 5)]) - 1
    network = 3 if found >= 4 else 0  # binding and connecting TCP
    scoped = 3 if found >= 6 else 0  # abstract sockets and signals
    attribute = struct.pack("@QQQ", rights, network, scoped)
    size = 24 if found >= 6 else 16 if found >= 4 else 8
    rules = kernel.call("landlock_create_ruleset", ctypes.create_string_buffer(attribute), size, 0)
    never = _EXECUTE | _CHARACTER | _SOCKET | _BLOCK | _DEVICE
    for path in readable:
        _allow(rules, path, _READ_FILE | _READ_DIR)
    for path in writable:
        _allow(rules, path, rights & ~never)
    return rules


def restrict(rules: int) -> None:
    """Puts this process under the rules for good; it must not gain privileges any more."""
    kernel.call("landlock_restrict_self", rules, 0)


def _allow(rules: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not os.path.isdir(path):
                rights &= _FILES_ONLY
            rule = struct.pack("=Qi", rights, place)
            kernel.call(
                "landlock_add_rule", rules, _PATH_BENEATH, ctypes.create_string_buffer(rule), 0
            )
        finally:
            os.close(place)
