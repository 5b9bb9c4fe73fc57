"""``limite-gen overlap``: what of one file turns up in another."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from limite.core.cli.table import show_json
from limite.problems import files
from limite.problems.gen.say import cut
from limite.problems.overlap import COPIES, KINDS, WINDOW
from limite.problems.overlap import overlap as compared

SHOWN = 10
COMMON = 100
CHARACTERS = 300
"""The most characters of a question that are shown; JSON has all."""


@click.command()
@click.argument("evaluation", metavar="A", type=click.Path(path_type=Path))
@click.argument("training", metavar="B", type=click.Path(path_type=Path))
@click.option(
    "--window", metavar="N", type=click.IntRange(2, 1000), default=WINDOW, show_default=True,
    help="Words of a run.",
)  # fmt: skip
@click.option(
    "--common", metavar="N", type=click.IntRange(1), default=COMMON, show_default=True,
    help="Runs that more questions of B have are phrases of a template, and no match.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all matches.")
def overlap(evaluation: Path, training: Path, window: int, common: int, as_json: bool) -> None:
    """Tell what of the questions of A turns up in B: whole, nearly, in other words, as a template.

    A question matches whole where the two are equal without case, spacing and punctuation; nearly
    where at least half of its runs of words stand in B; in other words where the two have the same
    numbers and four fifths of their phrases; and as a template where only numbers differ.
    """
    texts = [each.problem for each in files.iterate(evaluation)]
    others = (each.problem for each in files.iterate(training))
    found = compared(texts, others, window=window, common=common)
    if as_json:
        show_json(
            {
                "checked": found.checked,
                **{kind: found.of(kind) for kind in KINDS},
                "matches": [
                    {"a": str(evaluation), "b": str(training), **attrs.asdict(each)}
                    for each in found.matches
                ],
            }
        )
        return
    click.echo(found.text)
    if templates := len(found.of("template")):
        click.echo(f"{templates:,} more differ from a question of B in numbers alone")
    for kind in COPIES:
        matches = [each for each in found.matches if each.kind == kind]
        for match in matches[:SHOWN]:
            click.echo(f"  {kind}: {cut(match.text, CHARACTERS)}")
            span = cut(match.span, CHARACTERS)
            click.echo(f"    row {match.row:,} of A, row {match.other_row:,} of B: {span}")
        if len(matches) > SHOWN:
            click.echo(f"  and {len(matches) - SHOWN:,} more {kind} matches; --json has them all")
