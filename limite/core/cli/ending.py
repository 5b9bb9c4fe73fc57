"""How a command ends: its exit code, and what is said of an error."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from limite.core.cli.groups import State
from limite.core.errors import LimiteError, SettingsError


def run_program(program: click.Group, name: str, arguments: Sequence[str] | None = None) -> None:
    """Run a command line and end the process with its exit code."""
    if sys.stdout is None:  # closed by the shell: `limite plugins >&-`
        _say_error("standard output is closed; send it to /dev/null to do without")
        sys.exit(1)
    state = State()
    code = _invoke(program, name, list(sys.argv[1:] if arguments is None else arguments), state)
    sys.exit(code if _flushed() else 1)


def _flushed() -> bool:
    """Whether all that was printed has reached standard output. If not, the rest is dropped."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop_output(error)
        return False
    return True


def _drop_output(error: OSError) -> None:
    # Where only the reader has gone (`limite plugins | head`) there is nothing to say.
    if not isinstance(error, BrokenPipeError):
        _say_error(f"cannot write to standard output: {error.strerror}")
    # The flush at exit must not complain again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say_error(sentence: str) -> None:
    click.echo(f"{click.style('error:', fg='red', bold=True)} {sentence}", err=True)


def _invoke(program: click.Group, name: str, arguments: list[str], state: State) -> int:
    try:
        result = program.main(arguments, prog_name=name, standalone_mode=False, obj=state)
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
            _say_error(str(error))
        return error.exit_code
    except OSError as error:
        innermost = traceback.extract_tb(error.__traceback__)[-1]
        if innermost.filename != click.utils.__file__:  # no failure to print
            raise
        _drop_output(error)
        return 1
