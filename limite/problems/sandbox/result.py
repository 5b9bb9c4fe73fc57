"""What became of a program."""

from __future__ import annotations

from typing import Any, Literal

import attrs

Status = Literal[
    "ok",
    "error",
    "timeout_cpu",
    "timeout_wall",
    "memory",
    "output_limit",
    "killed",
    "bad_value",
    "unavailable",
]


@attrs.frozen(kw_only=True)
class Result:
    """What a program returned, or why it returned nothing, and what it took.

    ``ok``: ``value`` is what its entry returned. ``error``: it raised ``error_type``, or ended
    early (``EarlyExit``), or has no such entry (``MissingEntry``). ``timeout_cpu``,
    ``timeout_wall``, ``memory`` and ``output_limit``: it ran into that limit. ``killed``: it died
    of ``signal``. ``bad_value``: what it returned is no plain data, or too large. ``unavailable``:
    it was not run. ``error`` says more in a sentence.
    """

    status: Status
    value: Any = None
    error_type: str = ""
    error: str = ""
    signal: int | None = None
    stdout: str = ""
    stderr: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    max_rss_bytes: int = 0
    backend: str = ""
    layers: tuple[str, ...] = ()
    """The protections that were active, each by name."""
