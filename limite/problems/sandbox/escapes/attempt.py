"""What an attempt is: a program, and how to tell from its end whether it got anywhere."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from limite.problems.sandbox.limits import MIB, Limits
from limite.problems.sandbox.result import Result

LIMITS = Limits(cpu_s=1.0, wall_s=10.0, memory_bytes=256 * MIB)

# What the programs share. ``w`` tells what there is outside: see World.
PRELUDE = """
import ctypes, errno, os, platform, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
def call(x86, aarch64, *arguments):
    number = aarch64 if arm else x86
    plain = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = libc.syscall(ctypes.c_long(number), *plain)
    return result if result >= 0 else -ctypes.get_errno()
def granted(result, *sound):
    \"\"\"Whether a call was let through: it worked, or failed of what was wrong with it.\"\"\"
    return result >= 0 or -result in sound
"""


def reached(result: Result) -> str:
    """What the program says it reached; whatever it came back with counts, readable or not."""
    if result.status == "bad_value":
        return result.error
    return str(result.value) if result.status == "ok" and result.value else ""


@attrs.frozen(kw_only=True)
class Attempt:
    """One attempt. ``judge`` says from the program's end what was reached, or nothing."""

    name: str
    group: str
    source: str
    judge: Callable[[Result], str] = reached
    limits: Limits = LIMITS
    wait_s: float = 0.0
    """How long after the program's end to look at what became of things outside."""


def attempts(group: str, programs: Sequence[tuple[str, str]], **rest: Any) -> list[Attempt]:
    """Attempts of one group, from names and the bodies of ``attempt(w)``."""
    return [
        Attempt(
            name=name,
            group=group,
            source=f"{PRELUDE}\ndef attempt(w):\n{textwrap.indent(textwrap.dedent(body), '    ')}",
            **rest,
        )
        for name, body in programs
    ]
