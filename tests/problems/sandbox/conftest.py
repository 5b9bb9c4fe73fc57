"""Each backend in turn; one that cannot be had here is told as such, and checked to be so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from limite.problems.sandbox import landlock, seccomp
from limite.problems.sandbox.backends import ADEQUATE
from limite.problems.sandbox.faults import Unavailable
from limite.problems.sandbox.pool import Pool

UNSHARE = """
import ctypes, os
libc = ctypes.CDLL(None)
flags = 0x20000 | 0x40000000 | 0x20000000
raise SystemExit(libc.unshare(flags) != 0 and libc.unshare(flags | 0x10000000) != 0)
"""


def refused(backend: str) -> bool:
    """Whether this machine does without what a backend is made of, asked of the machine itself."""
    if backend == "namespaces":
        asked = subprocess.run([sys.executable, "-S", "-c", UNSHARE], check=False)
        return asked.returncode != 0
    if backend == "bwrap":
        found = shutil.which("bwrap")
        trial = ["--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"]
        return found is None or subprocess.run([found, *trial], check=False).returncode != 0
    return landlock.version() == 0 or not seccomp.known()


@pytest.fixture(scope="module", params=ADEQUATE)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def pool(backend: str) -> Iterator[Pool]:
    with Pool(backend=backend, size=1) as made:
        try:
            made.run("def f(): return 1", "f")
        except Unavailable as error:
            if refused(backend):
                pytest.xfail(f"{backend}: {error}")
            raise
        yield made
