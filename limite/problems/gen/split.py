"""``limite-gen split``: a file in two parts that have no problem in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from limite.core.errors import LimiteError
from limite.core.separation import SHARE, is_held_out
from limite.core.types import Problem
from limite.problems import files
from limite.problems.gen.say import Real, new_file, report


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--train", metavar="FILE", type=click.Path(path_type=Path), required=True, help="To train on."
)
@click.option(
    "--held-out", metavar="FILE", type=click.Path(path_type=Path), required=True, help="To measure."
)
@click.option(
    "--share",
    metavar="P",
    type=Real(0.0, 1.0, min_open=True, max_open=True),
    default=SHARE,
    show_default=True,
    help="About how much is held out.",
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def split(
    file: Path, train: Path, held_out: Path, share: float, force: bool, as_json: bool
) -> None:
    """Part a file in two that have no problem in common.

    The hash of its question, without case, spacing and punctuation, says where a problem belongs.
    So parts of several files are disjoint as well, and what recipes hold out is what --share 0.1
    does.
    """
    if len({path.resolve() for path in (file, train, held_out)}) < 3:
        raise LimiteError("the file and its two parts must be three different files")
    for out in (train, held_out):
        new_file(out, force=force)

    for out, wanted in ((train, False), (held_out, True)):
        counts = {"problems": 0}
        files.write_problems(out, _side(file, share, wanted, counts))
        report(as_json, out, counts)


def _side(file: Path, share: float, wanted: bool, counts: dict[str, int]) -> Iterator[Problem]:
    for problem in files.iterate(file):
        if is_held_out(problem.problem, share) == wanted:
            counts["problems"] += 1
            yield problem
