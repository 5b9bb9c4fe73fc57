"""A filter of system calls: what computing needs is allowed, and everything else refused.

The list is of what is allowed, so that a call nobody thought of is refused too: sockets, starting
processes and programs, tracing, signals to others, mounts, namespaces, keys, io_uring, shared
memory. Where a call is harmless with some arguments alone, its arguments are compared.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from functools import cache

from limite.problems.sandbox import kernel
from limite.problems.sandbox.syscalls import AUDIT_ARCH, NUMBERS

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where a filter finds them, in bytes

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_REFUSE = 0x00050000  # with the error number in the low half
_X32 = 0x40000000
_MARK = 0x6D41726B  # no process has this number: there are fewer than 2^22

_SET_MODE_FILTER = 1
_CLONE_THREAD = 0x00010000
# Every namespace, and what else a thread of the same program never asks for.
_CLONE_REFUSED = 0x7E000000 | 0x00020000 | 0x00000080 | 0x00002000 | 0x00004000 | 0x00008000

_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # asks terminals; sets blocking, cloexec
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030)  # duplicates, flags and locks; no signals to an owner
_PRCTL = (15, 16)  # a thread's name

_OWN = ("kill", "tgkill")
_COMPARED = ("clone", "clone3", "fcntl", "ioctl", "kill", "tgkill", "prctl", "prlimit64")
_FOR_SET_UP = (
    "capset", "pivot_root", "mount_setattr", "seccomp", "unshare", "landlock_create_ruleset",
    "landlock_add_rule", "landlock_restrict_self",
)  # fmt: skip
# Landlock does not look at these; where the program sees the caller's files they are refused.
CHANGES_OF_FILES = (
    "chmod", "fchmod", "fchmodat", "utime", "utimes", "utimensat", "futimesat", "truncate",
)  # fmt: skip

Instruction = tuple[int, int, int, int]


def _step(code: int, k: int, yes: int = 0, no: int = 0) -> Instruction:
    return code, yes, no, k


def _refuse(code: int) -> Instruction:
    return _step(_RETURN, _REFUSE | code)


def _one_of(argument: int, values: tuple[int, ...]) -> list[Instruction]:
    """Allows the call where an argument is one of the values, all 64 bits of it."""
    steps = [
        _step(_LOAD, _ARGUMENTS + 8 * argument + 4),  # the high word; both machines are little
        _step(_EQUAL, 0, 1, 0),
        _refuse(errno.EPERM),
        _step(_LOAD, _ARGUMENTS + 8 * argument),
    ]
    for value in values:
        steps += [_step(_EQUAL, value, 0, 1), _step(_RETURN, _ALLOW)]
    return [*steps, _refuse(errno.EPERM)]


def _thread_only() -> list[Instruction]:
    return [
        _step(_LOAD, _ARGUMENTS + 4),
        _step(_EQUAL, 0, 1, 0),
        _refuse(errno.EPERM),
        _step(_LOAD, _ARGUMENTS),
        _step(_ANY_BIT, _CLONE_REFUSED, 0, 1),
        _refuse(errno.EPERM),
        _step(_ANY_BIT, _CLONE_THREAD, 0, 1),
        _step(_RETURN, _ALLOW),
        _refuse(errno.EPERM),
    ]


def program(pid: int, refused: tuple[str, ...] = ()) -> list[Instruction]:
    """The filter for a process, as instructions."""
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, AUDIT_ARCH, 1, 0),
        _step(_RETURN, _KILL_PROCESS),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, 0, 1),
        _refuse(errno.ENOSYS),
    ]
    compared = {
        "clone": _thread_only(),
        "clone3": [_refuse(errno.ENOSYS)],  # libc then asks for clone, whose flags can be seen
        "fcntl": _one_of(1, _FCNTL),
        "ioctl": _one_of(1, _IOCTL),
        "prctl": _one_of(0, _PRCTL),
        "prlimit64": _one_of(0, (0, pid)),
        **{name: _one_of(0, (pid,)) for name in _OWN},
    }
    for name, block in compared.items():
        steps += [_step(_EQUAL, NUMBERS[name], 0, len(block)), *block]
    plain = set(NUMBERS) - {*_COMPARED, *_FOR_SET_UP, *refused}
    for number in sorted(NUMBERS[name] for name in plain):
        steps += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _ALLOW)]
    return [*steps, _refuse(errno.EPERM)]


def known() -> bool:
    """Whether the numbers of this architecture's system calls are known."""
    return bool(NUMBERS and AUDIT_ARCH)


@cache
def _code(refused: tuple[str, ...]) -> tuple[int, bytes]:
    """How many instructions, and their bytes with a mark in the place of the process."""
    steps = program(_MARK, refused)
    return len(steps), b"".join(struct.pack("<HBBI", *step) for step in steps)


def prepare(refused: tuple[str, ...] = ()) -> None:
    """Makes the filter, so that a fork need not."""
    _code(refused)


def restrict(pid: int, refused: tuple[str, ...] = ()) -> None:
    """Puts this process under the filter for good; it must not gain privileges any more."""
    count, code = _code(refused)
    code = code.replace(struct.pack("<I", _MARK), struct.pack("<I", pid))
    held = ctypes.create_string_buffer(code, len(code))
    filter_ = ctypes.create_string_buffer(struct.pack("@HP", count, ctypes.addressof(held)))
    kernel.call("seccomp", _SET_MODE_FILTER, 0, filter_)
