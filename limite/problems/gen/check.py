"""``limite-gen check``: every problem of a file solved and verified again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from limite.core.cli.table import show_json
from limite.core.errors import Mistake, RunFailed
from limite.core.jsonl import DamagedFile
from limite.core.train.data.records import TOLD
from limite.problems import files
from limite.problems.gen.progress import progress
from limite.problems.gen.recheck import DEADLINE_S, Line, Rechecker
from limite.problems.gen.say import Real


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--verifier", metavar="NAME", default="mathematics", show_default=True)
@click.option(
    "--deadline",
    type=Real(0, 86_400, min_open=True),
    metavar="SECONDS",
    default=DEADLINE_S,
    show_default=True,
    help="What solving and judging one problem may take.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every mistake.")
def check(file: Path, verifier: str, deadline: float, as_json: bool) -> None:
    """Solve and verify every problem of a file again.

    A problem is right when its record is sound, the verifier takes its own answer for right, the
    family that made it finds the same answer anew, and no earlier line holds it. Ends with 1 if
    one is not, and tells where. One that takes longer than --deadline counts as wrong.
    """
    damage: list[Mistake] = []
    wrong: list[Mistake] = []
    read = solved = 0
    lines: dict[str, int] = {}
    with (
        contextlib.closing(Rechecker(verifier, deadline)) as rechecker,
        progress(None, as_json=False, left_out="wrong") as show,
    ):
        for (number, found), (reason, again) in rechecker(_lines(file, damage)):
            read += 1
            show(read, lambda: len(wrong))
            if isinstance(found, Mistake):
                wrong.append(found)
                continue
            solved += again
            if found.id in lines:
                reason = reason or f"the problem of line {lines[found.id]} again"
            lines.setdefault(found.id, number)
            if reason:
                wrong.append(Mistake(reason, file=str(file), line=number))
    wrong += damage
    if not read and not wrong:
        wrong.append(Mistake("holds no problems", file=str(file)))
    summary = {"file": str(file), "read": read, "solved_again": solved, "wrong": len(wrong)}
    if as_json:
        show_json({**summary, "mistakes": [str(each) for each in wrong]})
    else:
        click.echo(f"{file}: {read:,} problems, {solved:,} solved again, {len(wrong):,} wrong")
    if wrong:
        more = [f"and {len(wrong) - TOLD:,} more"] if len(wrong) > TOLD else []
        raise RunFailed("\n".join([*map(str, wrong[:TOLD]), *more]))


def _lines(file: Path, damage: list[Mistake]) -> Iterator[Line]:
    """The lines of a file; damage that ends it is a mistake among the others."""
    try:
        yield from files.read_lines(file)
    except DamagedFile as error:
        damage.append(Mistake(str(error)))
