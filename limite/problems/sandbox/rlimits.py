"""The resource limits that every kernel has."""

from __future__ import annotations

import math
import resource
from collections.abc import Mapping
from typing import Any

STACK_BYTES = 8 << 20


def restrict(limits: Mapping[str, Any]) -> None:
    """Limits this process to what ``Limits`` says, without a way back."""
    cpu = math.ceil(limits["cpu_s"]) + 1  # the watching process is more exact; this one is certain
    for which, value in (
        (resource.RLIMIT_AS, limits["memory_bytes"]),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_NPROC, limits["threads"]),
        (resource.RLIMIT_STACK, STACK_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(which, (value, value))
