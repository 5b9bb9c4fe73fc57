"""``limite admit``: whether a recipe's paths agree on this device, against declared tolerances."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from limite.core.cli.table import show_json, show_table
from limite.core.errors import RunFailed

if TYPE_CHECKING:
    from limite.core.recipe.admit.report import Gate, Report


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option("--stage", metavar="NAME", help="The stage, of type 'rl'; else the first there is.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for admission.json; else a new one in admissions/.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else.")
def admit(recipe: Path, stage: str | None, out: Path | None, as_json: bool) -> None:
    """Hold the stage of RECIPE, on this device, to tolerances declared beforehand.

    Sampling, replay, objective, optimizer, memory and checkpoints are tried at the recipe's own
    model on a few canaries. The report is kept whatever it says; ends with 1 where a gate was
    missed, and what missed one stays experimental.
    """
    from limite.core.discover import load_registry
    from limite.core.recipe.admit.run import admit as examine
    from limite.core.recipe.admit.run import write_report

    report = examine(
        recipe,
        load_registry(),
        stage=stage,
        out=out,
        echo=(lambda _line: None) if as_json else (lambda line: click.echo(line, err=True)),
    )
    # Shown first: a disk that is full by now takes no verdict away.
    if as_json:
        show_json(report.plain())
    else:
        show_report(report)
    place = write_report(report, out)
    if not as_json:
        click.echo(f"report  {place}")
    if report.missed:
        raise RunFailed(
            f"stays experimental: missed {', '.join(report.missed)}; tolerances are not changed "
            "to admit anything"
        )


def show_report(report: Report) -> None:
    """Every figure with its limit and verdict, then what the whole comes to."""
    show_table(
        ("GATE", "FIGURE", "MEASURED", "LIMIT", "VERDICT"),
        [row for gate in report.gates for row in _rows(gate)],
        cut=False,
    )
    click.echo()
    for text in report.about["left_out"]:
        click.echo(f"left out: {text}")
    click.echo(f"weights: {report.about['weights']}")
    click.echo(str(report.plain()["scope"]))
    click.echo(
        f"{report.about['recipe']}, stage {report.about['stage']}, on "
        f"{report.about['device']} in {report.about['dtype']}: {report.status}"
    )


def _rows(gate: Gate) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (
            gate.name,
            each.name.rpartition("/")[2],
            "none" if each.figure is None else f"{each.figure:.3g}",
            each.limit,
            "passed" if each.passed else "MISSED",
        )
        for each in gate.verdicts
    ]
    if gate.error is not None:
        rows.append((gate.name, gate.error, "", "", "MISSED"))
    if gate.not_applicable is not None:
        rows.append((gate.name, gate.not_applicable, "", "", "not applicable"))
    return rows
