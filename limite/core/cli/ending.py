"""How a command ends: its exit code, and what is said of an error."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from types import FrameType

import click

from limite.core.cli.groups import NOTHING_BEGUN, State
from limite.core.errors import LimiteError, SettingsError


def run_program(program: click.Group, name: str, arguments: Sequence[str] | None = None) -> None:
    """Run a command line and end the process with its exit code."""
    if sys.stdout is None:  # closed by the shell: `limite plugins >&-`
        _say_error("standard output is closed; send it to /dev/null to do without")
        sys.exit(1)
    state = State()
    with _quiet_start():
        code = _invoke(program, name, list(sys.argv[1:] if arguments is None else arguments), state)
    sys.exit(code if _flushed() else 1)


@contextlib.contextmanager
def _quiet_start() -> Iterator[None]:
    """Within it, Ctrl-C while torch is imported ends the process with one sentence.

    Raised inside of torch's own start an interrupt would end it by an abort in C++.
    """
    alone = threading.current_thread() is threading.main_thread()
    ours = alone and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    if getattr(spec, "_initializing", False):
        os.write(2, (NOTHING_BEGUN + "\n").encode())
        os._exit(130)
    signal.default_int_handler(number, frame)


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
