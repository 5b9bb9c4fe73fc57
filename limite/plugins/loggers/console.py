"""The numbers of a run for the person who watches it."""

from __future__ import annotations

import fnmatch
import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs
from attrs.validators import ge

from limite.core.kinds import LoggerContext, LoggerRun

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Metrics = Mapping[str, float | int | str | None]
_REFRESH_S = 0.1


@attrs.frozen(kw_only=True)
class Console:
    """A progress line on a terminal, and plain lines, a few per stage, everywhere else."""

    lines: int = attrs.field(
        default=20, validator=ge(1), metadata={"help": "plain lines a stage, besides its first"}
    )
    metrics: tuple[str, ...] = attrs.field(
        default=(
            "loss",
            "accuracy/*",
            "contrast/share",
            "length/*tokens*",
            "entropy/*",
        ),
        metadata={"help": "patterns of metric names; the first match of each is shown"},
    )

    def build(self, context: LoggerContext) -> LoggerRun:
        if context.live:
            return _Live(context, self.metrics)
        return _Lines(context, self.metrics, max(1, math.ceil(context.total_steps / self.lines)))


class _Lines:
    """Every ``every``-th step as a line, and always the first one seen and the last."""

    def __init__(self, context: LoggerContext, patterns: tuple[str, ...], every: int) -> None:
        self.context = context
        self.patterns = patterns
        self.every = every
        self.silent = False

    def log(self, step: int, metrics: Metrics) -> None:
        total = self.context.total_steps
        if self.silent and step % self.every and step != total:
            return
        self.silent = True
        place = f"{self.context.stage}  {step:>{len(str(total))}}/{total}"
        took = metrics.get("time_s")
        time_s = [f"{took:.1f} s"] if isinstance(took, (int, float)) else []
        self.context.echo("  ".join([place, *_shown(metrics, self.patterns), *time_s]))

    def close(self) -> None:
        """Every line is out already."""


class _Live:
    """One line that moves; it is drawn from the calls themselves, without a thread."""

    def __init__(self, context: LoggerContext, patterns: tuple[str, ...]) -> None:
        self.context = context
        self.patterns = patterns
        self.progress: Progress | None = None
        self.task: TaskID | None = None
        self.drawn_s = -math.inf
        self.clock: Callable[[], float] = time.monotonic

    def log(self, step: int, metrics: Metrics) -> None:
        if self.progress is None:
            self.progress = _progress()
            self.task = self.progress.add_task(
                self.context.stage, total=self.context.total_steps, numbers=""
            )
            self.progress.start()
        assert self.task is not None
        self.progress.update(
            self.task, completed=step, numbers="  ".join(_shown(metrics, self.patterns))
        )
        now_s = self.clock()
        if now_s - self.drawn_s >= _REFRESH_S:
            self.progress.refresh()
            self.drawn_s = now_s

    def close(self) -> None:
        """Leaves the line as it last was."""
        if self.progress is not None:
            self.progress.stop()
            self.progress = None


def _progress() -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    def numbers() -> TextColumn:
        column = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        return TextColumn("{task.fields[numbers]}", table_column=column, markup=False)

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        numbers(),
        auto_refresh=False,
        expand=True,
    )


def _shown(metrics: Metrics, patterns: tuple[str, ...]) -> list[str]:
    shown = []
    names = sorted(metrics)
    for pattern in patterns:
        for name in fnmatch.filter(names, pattern):
            value = metrics[name]
            if value is not None and not isinstance(value, str):
                shown.append(f"{name} {_number(value)}")
                break
    return shown


def _number(value: float | int) -> str:
    """Four telling digits, and no exponent where it is not needed."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size and not 1e-3 <= size < 1e6:
        return f"{value:.2e}"
    return f"{value:.{3 if size < 10 else 1}f}"
