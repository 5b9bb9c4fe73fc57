"""How far writing weights has come: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

LINE_EVERY_S = 10.0


@contextmanager
def weights_progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on a terminal; elsewhere a line now and then, if it takes that long."""
    if quiet:
        yield None
    elif not sys.stdout.isatty():
        yield _Lines()
    else:
        bar: Any = None

        def move(name: str, done: int, total: int) -> None:
            nonlocal bar
            if bar is None:
                bar = click.progressbar(length=total, label="weights")
                bar.__enter__()
            bar.update(done - bar.pos)

        try:
            yield move
        finally:
            if bar is not None:
                bar.__exit__(None, None, None)


class _Lines:
    """Says how far it is, at most once every ten seconds."""

    def __init__(self) -> None:
        self.last_s = time.monotonic()

    def __call__(self, name: str, done: int, total: int) -> None:
        if time.monotonic() - self.last_s >= LINE_EVERY_S and done < total:
            self.last_s = time.monotonic()
            click.echo(f"{100 * done // total}% of the weights are written")
