"""The numbers of every step as lines of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs

from limite.core.jsonl import append_jsonl
from limite.core.kinds import LoggerContext, LoggerRun

_FIRST = ("time_s", "tokens")


@attrs.frozen(kw_only=True)
class JSONL:
    """One object per step in ``metrics.jsonl`` of the stage's folder."""

    def build(self, context: LoggerContext) -> LoggerRun:
        return _Run(context.directory / "metrics.jsonl")


@attrs.frozen
class _Run:
    place: Path

    def log(self, step: int, metrics: Mapping[str, float | int | str | None]) -> None:
        names = sorted(metrics, key=lambda name: (name not in _FIRST, name.count("/"), name))
        record = {"step": step} | {name: metrics[name] for name in names if name != "step"}
        # Opened and closed at each step: whatever kills the process, the line is with the system.
        append_jsonl(self.place, [record], sort_keys=False)

    def close(self) -> None:
        """Nothing is held between steps."""
