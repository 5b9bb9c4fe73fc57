"""How far long work on problems has come: a bar on a terminal, else lines, or events as JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import click

from limite.core.jsonl import dumps

EVERY_S = 10.0
LOOK_EVERY = 64


class Shown(Protocol):
    """Something that is told how many are done, and is asked to count those left out."""

    def __call__(self, done: int, left_out: Callable[[], int], /) -> None: ...


@contextmanager
def progress(
    total: int | None,
    *,
    as_json: bool,
    already: int = 0,
    look_every: int = LOOK_EVERY,
    left_out: str = "not kept",
) -> Iterator[Shown]:
    """Tells of progress for as long as it lasts; ``already`` were done by an earlier run.

    It looks at the clock every ``look_every`` problems: 1 where each of them takes a while.
    ``total`` is None where nobody knows it; ``left_out`` is a word for those that count apart.
    """
    if as_json or not sys.stderr.isatty():
        yield _Lines(total, _Clock(already, EVERY_S, look_every), as_json, left_out)
        return
    from rich.console import Console  # late: only terminals need it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), Left())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("problems", total=total, completed=already, rate="")
        clock = _Clock(already, 0.2, look_every)

        def show(done: int, others: Callable[[], int]) -> None:
            if clock.due():
                words = f"{clock.rate(done):,.0f}/s, {others():,} {left_out}"
                bar.update(task, completed=done, rate=words)

        yield show


class _Clock:
    """When to speak again, and how fast it goes."""

    def __init__(self, already: int, every_s: float, look_every: int) -> None:
        self.began_s = self.spoke_s = time.monotonic()
        self.already = already
        self.every_s = every_s
        self.look_every = look_every
        self.calls = 0

    def due(self) -> bool:
        self.calls += 1
        if self.calls % self.look_every:
            return False
        now_s = time.monotonic()
        if now_s - self.spoke_s < self.every_s:
            return False
        self.spoke_s = now_s
        return True

    def rate(self, done: int) -> float:
        """How many come a second. Going over what was there is no progress, and takes no time."""
        now_s = time.monotonic()
        if done <= self.already:
            self.began_s = now_s
            return 0.0
        return (done - self.already) / max(now_s - self.began_s, 1e-9)


class _Lines:
    def __init__(self, total: int | None, clock: _Clock, as_json: bool, left_out: str) -> None:
        self.total = total
        self.as_json = as_json
        self.clock = clock
        self.left_out = left_out

    def __call__(self, done: int, others: Callable[[], int]) -> None:
        if not self.clock.due():
            return
        rejected = others()
        rate = self.clock.rate(done)
        left_s = None if self.total is None or rate <= 0 else (self.total - done) / rate
        if self.as_json:
            event: dict[str, Any] = {"event": "progress", "done": done, "total": self.total}
            event |= {"rejected": rejected, "per_second": round(rate, 1), "left_s": left_s}
            click.echo(dumps(event))
            return
        of = "" if self.total is None else f" of {self.total:,}"
        left = "" if left_s is None else f", {left_s:,.0f} s left"
        click.echo(f"{done:,}{of}, {rate:,.0f}/s, {rejected:,} {self.left_out}{left}", err=True)
