"""Groups of commands: imported only when called, with a suggestion for a mistyped name."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import click

from limite.core.errors import did_you_mean

NOTHING_BEGUN = "stopped before anything began"


@contextlib.contextmanager
def nothing_begun() -> Iterator[None]:
    """Within it, Ctrl-C says that there was nothing to stop yet."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(NOTHING_BEGUN) from error


class State:
    """What the whole command line shares."""

    debug = False


def _set_debug(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    state = context.find_object(State)
    if state is not None:
        state.debug = state.debug or value


def debug_option() -> click.Option:
    """``--debug``, which every command has."""
    return click.Option(
        ["--debug"],
        is_flag=True,
        expose_value=False,
        callback=_set_debug,
        help="Show the traceback of an error.",
    )


def _accept_debug(command: click.Command) -> None:
    """Let ``--debug`` stand behind any command as well as before it."""
    if not any("--debug" in parameter.opts for parameter in command.params):
        command.params.append(debug_option())
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        _accept_debug(below)


class SuggestingGroup(click.Group):
    """A group that answers a mistyped command with the nearest right one."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(context)
        if args[0] not in known and not args[0].startswith("-"):
            near = did_you_mean(args[0], known) or f"; there are {', '.join(known)}"
            context.fail(f"no command {args[0]!r}{near}")
        return super().resolve_command(context, args)


class LazyGroup(SuggestingGroup):
    """Commands named as strings: help lists them all and imports none."""

    def __init__(self, *args: Any, table: dict[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.table = table

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.table:
            return None
        module, _, attribute = self.table[name][0].partition(":")
        with nothing_begun():
            command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        _accept_debug(command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])
