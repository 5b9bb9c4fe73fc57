"""The command ``limite``: a table of commands, imported only when called."""

from __future__ import annotations

from collections.abc import Sequence

import click

from limite import __version__
from limite.core.cli.ending import run_program
from limite.core.cli.groups import LazyGroup, debug_option

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("limite.core.cli.run:run", "Run a recipe, stage by stage."),
    "check": ("limite.core.cli.check:check", "List every mistake in recipes, running nothing."),
    "resume": ("limite.core.cli.resume:resume", "Go on with a run that was stopped."),
    "plan": ("limite.core.cli.plan:plan", "Tell what each stage takes of every GPU."),
    "eval": ("limite.evaluate.cli:eval_", "Measure models on problems, with intervals."),
    "compare": ("limite.evaluate.compare_cli:compare", "Compare runs over problems and seeds."),
    "report": ("limite.core.cli.report:report", "Write the page that tells how a run went."),
    "verify": ("limite.core.cli.verify:verify", "Check that a run's files are what they say."),
    "admit": ("limite.core.cli.admit:admit", "Hold a recipe's paths to declared tolerances."),
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
    "gen": ("limite.problems.gen.main:cli", "Make and look after problems: limite-gen."),
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
    run_program(cli, "limite", arguments)
