"""Who a program runs as: nobody, with no capabilities, and no way to gain any."""

from __future__ import annotations

import ctypes
import os
import secrets
import struct

from limite.problems.sandbox import kernel

NOBODY = 65534
_NO_ONES = 0x7000_0000  # a range of user ids that no system gives to anybody
_MANY = 1 << 24
_CAPABILITIES = 64
_VERSION_3 = 0x20080522


def some_nobody() -> int:
    """A user id that no other process has: what is counted by user is then counted apart."""
    return _NO_ONES + secrets.randbelow(_MANY)


def become_nobody(user: int = NOBODY) -> None:
    """Gives up every user and group id of root's; where ``user`` cannot be had, for nobody's."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    try:
        os.setresuid(user, user, user)
    except OSError:  # in a user namespace that knows few
        os.setresuid(NOBODY, NOBODY, NOBODY)


def drop_bounding() -> None:
    """No program that is ever started gets a capability back."""
    for capability in range(_CAPABILITIES):
        try:
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability)
        except OSError:
            if capability == 0:
                raise
            return  # beyond the last one that the kernel knows


def drop_capabilities() -> None:
    """Gives up every capability of this process."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", _VERSION_3, 0))
    kernel.call("capset", header, ctypes.create_string_buffer(24))


def gain_nothing() -> None:
    """No program that is started gets more rights than this one has."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
