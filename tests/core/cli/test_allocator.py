"""Memory that a command frees is found by what comes next."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from limite.core.cli.allocator import keep_freed_memory

def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def used():
    parts = [bytearray(48 << 20) for _ in range(2)]  # beyond what the C library keeps by itself
    return len(parts)

{call}
for _ in range(3):
    used()
before = pages()
for _ in range(5):
    used()
print(pages() - before)
"""


def pages_taken(call: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(call=call)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the GNU C library alone")
def test_what_was_freed_is_not_taken_from_the_system_again() -> None:
    kept, given_back = pages_taken("keep_freed_memory()"), pages_taken("")
    assert kept < 100 < given_back
