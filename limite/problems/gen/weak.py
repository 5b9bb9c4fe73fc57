"""The option ``--allow-weak-sandbox`` of the commands that run programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from limite.problems.sandbox.pool import WEAK, WeakSandbox, weak_allowed


def weak_sandbox_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the parameter ``allow_weak_sandbox``."""
    option = click.option(
        "--allow-weak-sandbox",
        is_flag=True,
        help="Run programs with resource limits alone where there is no sandbox. They hold nobody.",
    )
    return option(command)


@contextmanager
def sandbox(*, allow_weak: bool) -> Iterator[None]:
    """While it lasts, this process may use the sandbox that holds nobody, and says so once."""
    if not allow_weak:
        yield
        return
    click.echo(f"warning: --allow-weak-sandbox: where there is no other, {WEAK}", err=True)
    with weak_allowed(), warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSandbox)
        yield
