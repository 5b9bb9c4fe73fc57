"""The command ``limite-gen``: makes files of problems, and looks after them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from limite import __version__
from limite.core.cli.ending import run_program
from limite.core.cli.groups import LazyGroup, debug_option

HERE = "limite.problems.gen"
COMMANDS: dict[str, tuple[str, str]] = {
    "list": (f"{HERE}.list:list_", "List the families of problems."),
    "show": (f"{HERE}.show:show", "Show one family: its dial, and problems of it."),
    "gallery": (f"{HERE}.gallery:gallery", "Write a page of problems of every family."),
    "make": (f"{HERE}.make:make", "Make a file of problems."),
    "author": (f"{HERE}.author:author", "Have a language model write problems, and check them."),
    "requests": (f"{HERE}.requests:requests", "Write the requests of author for a batch server."),
    "collect": (f"{HERE}.collect:collect", "Take the replies of a batch server."),
    "inspect": (f"{HERE}.inspect:inspect", "Count what a file holds, and show some of it."),
    "check": (f"{HERE}.check:check", "Solve and verify every problem of a file again."),
    "grade": (f"{HERE}.grade:grade", "Judge responses to the problems of a file."),
    "calibrate": (f"{HERE}.calibrate:calibrate", "Measure how often a model solves each problem."),
    "split": (f"{HERE}.split:split", "Part a file in two that have no problem in common."),
    "dedup": (f"{HERE}.dedup:dedup", "Write a file without its repetitions."),
    "overlap": (f"{HERE}.overlap:overlap", "Tell what of one file turns up in another."),
    "import": (f"{HERE}.import_:import_", "Read problems from the files of other data sets."),
    "export": (f"{HERE}.export:export", "Write a file as other programs read it."),
    "merge": (f"{HERE}.merge:merge", "Write several files as one, shards as what they are of."),
    "doctor": (f"{HERE}.doctor:doctor", "Tell what the sandbox is made of, and try to get out."),
}

cli = LazyGroup(
    "limite-gen",
    table=COMMANDS,
    help="Mathematical problems of a chosen difficulty, with answers that were checked.",
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[debug_option()],
)
click.version_option(__version__, prog_name="limite-gen", message="%(prog)s %(version)s")(cli)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    run_program(cli, "limite-gen", arguments)
