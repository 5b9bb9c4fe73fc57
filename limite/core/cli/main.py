"""The command ``limite``: a table of commands, imported only when called, and how errors end."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from limite import __version__
from limite.core.errors import LimiteError, SettingsError, did_you_mean

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("limite.core.cli.run:run", "Run a recipe, stage by stage."),
    "check": ("limite.core.cli.check:check", "List every mistake in recipes, running nothing."),
    "resume": ("limite.core.cli.resume:resume", "Go on with a run that was stopped."),
    "report": ("limite.core.cli.report:report", "Write the page that tells how a run went."),
    "plugins": ("limite.core.cli.plugins:plugins", "List components, or show one of them."),
    "recipes": ("limite.core.cli.recipes:recipes", "List the shipped recipes, or copy one."),
}


class State:
    """What the whole command line shares."""

    debug = False


def _set_debug(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    state = context.find_object(State)
    if state is not None:
        state.debug = state.debug or value


def _debug_option() -> click.Option:
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
        command.params.append(_debug_option())
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        _accept_debug(below)


class LazyGroup(click.Group):
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
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        _accept_debug(command)
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.table and not name.startswith("-"):
            near = did_you_mean(name, self.table) or f"; there are {', '.join(self.table)}"
            context.fail(f"no command {name!r}{near}")
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])


cli = LazyGroup(
    "limite",
    table=COMMANDS,
    help="Interchangeable parts for post-training small models that reason in mathematics.",
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[_debug_option()],
)
click.version_option(__version__, prog_name="limite", message="%(prog)s %(version)s")(cli)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    state = State()
    code = _invoke(list(sys.argv[1:] if arguments is None else arguments), state)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`limite plugins | head`); the flush at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)


def _invoke(arguments: list[str], state: State) -> int:
    try:
        result = cli.main(arguments, prog_name="limite", standalone_mode=False, obj=state)
        # click gives back the code of ``context.exit``, and else what the command returned.
        return result if isinstance(result, int) else 0
    except click.Abort as abort:
        # click turns Ctrl-C into Abort. The command has said how to go on, if there is a way.
        sentence = str(abort.__cause__ or "")
        if sentence:
            click.echo(sentence, err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LimiteError as error:
        if state.debug:
            traceback.print_exc()
        elif isinstance(error, SettingsError):
            # Each line begins with file and line, so that editors can follow it.
            click.echo(str(error), err=True)
        else:
            click.echo(f"{click.style('error:', fg='red', bold=True)} {error}", err=True)
        return error.exit_code
