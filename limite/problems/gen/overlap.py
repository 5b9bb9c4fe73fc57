"""``limite-gen overlap``: what of one file turns up in another."""

from __future__ import annotations

from pathlib import Path

import click

from limite.core.cli.table import show_json
from limite.problems import files
from limite.problems.overlap import overlap as compared

SHOWN = 10


@click.command()
@click.argument("evaluation", metavar="A", type=click.Path(path_type=Path))
@click.argument("training", metavar="B", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all matches.")
def overlap(evaluation: Path, training: Path, as_json: bool) -> None:
    """Tell what of the questions of A turns up in B, whole or nearly.

    A question matches whole where the two are equal without case, spacing and punctuation, and
    nearly where at least half of its runs of 13 words stand in B.
    """
    texts = [each.problem for each in files.iterate(evaluation)]
    found = compared(texts, (each.problem for each in files.iterate(training)))
    if as_json:
        show_json({"checked": found.checked, "exact": [*found.exact], "near": [*found.near]})
        return
    click.echo(found.text)
    for kind, matches in (("exact", found.exact), ("near", found.near)):
        for text in matches[:SHOWN]:
            click.echo(f"  {kind}: {text}")
        if len(matches) > SHOWN:
            click.echo(f"  and {len(matches) - SHOWN:,} more {kind} matches; --json has them all")
