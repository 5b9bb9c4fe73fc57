"""The kernel's own calls, by number and by ctypes: the sandbox needs no library and no compiler."""

from __future__ import annotations

import ctypes
import os

from limite.problems.sandbox.syscalls import NUMBERS

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

Argument = int | bytes | ctypes.Array[ctypes.c_char] | None


def call(name: str, *arguments: Argument) -> int:
    """The result of a system call; an OSError that names it where it fails."""
    number = NUMBERS.get(name)
    if number is None:
        raise OSError(f"{name}: its number is not known for this architecture")
    plain = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(_LIBC.syscall(ctypes.c_long(number), *plain))
    if result < 0:
        raise _failure(name)
    return result


def prctl(option: int, value: int = 0) -> None:
    """Sets one property of this process."""
    zero = ctypes.c_ulong(0)
    if _LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero) != 0:
        raise _failure(f"prctl {option}")


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int, data: bytes = b"") -> None:
    if _LIBC.mount(source, target, kind, ctypes.c_ulong(flags), data or None) != 0:
        raise _failure(f"mount on {os.fsdecode(target)}")


def unmount(target: bytes, flags: int) -> None:
    if _LIBC.umount2(target, ctypes.c_int(flags)) != 0:
        raise _failure(f"umount of {os.fsdecode(target)}")


def _failure(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{what}: {os.strerror(code)}")
