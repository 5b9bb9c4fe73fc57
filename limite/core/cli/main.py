"""The command ``limite``: a table of commands, imported only when called, and how errors end."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from limite import __version__
from limite.core.cli.groups import LazyGroup, State, debug_option
from limite.core.errors import LimiteError, SettingsError

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("limite.core.cli.run:run", "Run a recipe, stage by stage."),
    "check": ("limite.core.cli.check:check", "List every mistake in recipes, running nothing."),
    "resume": ("limite.core.cli.resume:resume", "Go on with a run that was stopped."),
    "report": ("limite.core.cli.report:report", "Write the page that tells how a run went."),
    "import": ("limite.core.cli.import_:import_", "Turn a GGUF file into a model directory."),
    "inspect": ("limite.core.cli.inspect:inspect", "Show what a model is and what it takes."),
    "sample": ("limite.core.cli.sample:sample", "Print what a model answers to a text."),
    "export": ("limite.core.cli.export:export", "Write a run's weights as a model directory."),
    "graft": ("limite.core.cli.graft:graft", "Put other attention into layers of a model."),
    "soup": ("limite.core.cli.soup:soup", "Average models that grew from one."),
    "plugins": ("limite.core.cli.plugins:plugins", "List components, or show one of them."),
    "golden": (
        "limite.core.cli.golden:golden",
        "Compare a decoder, or objectives, with golden numbers.",
    ),
    "recipes": ("limite.core.cli.recipes:recipes", "List the shipped recipes, or copy one."),
}


cli = LazyGroup(
    "limite",
    table=COMMANDS,
    help="Interchangeable parts for post-training small models that reason in mathematics.",
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[debug_option()],
)
click.version_option(__version__, prog_name="limite", message="%(prog)s %(version)s")(cli)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    if sys.stdout is None:  # closed by the shell: `limite plugins >&-`
        _say_error("standard output is closed; send it to /dev/null to do without")
        sys.exit(1)
    state = State()
    code = _invoke(list(sys.argv[1:] if arguments is None else arguments), state)
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
            _say_error(str(error))
        return error.exit_code
    except OSError as error:
        innermost = traceback.extract_tb(error.__traceback__)[-1]
        if innermost.filename != click.utils.__file__:  # no failure to print
            raise
        _drop_output(error)
        return 1
