"""``limite report``: the page that tells how a run went, and the same in a few lines."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from limite.core.cli.table import show_json, show_table
from limite.core.errors import LimiteError

TOLD = "limite.evaluate.matched_told"
"""What puts a comparison into words: core imports nothing beside it."""


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the page here (default: RUN/report.html) and the picture beside it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def report(run: Path, out: Path | None, as_json: bool) -> None:
    """Write the page that tells how a run went.

    RUN is the folder of a run, or the name of one under runs/. The page opens offline; what it
    claims is printed here too. Of a matched comparison it is the page that compares.
    """
    from limite.core.recipe.matched.folder import is_comparison
    from limite.core.recipe.report import read_run, write_pages
    from limite.core.recipe.report.data import as_data
    from limite.core.recipe.report.remarks import remarks

    if not run.exists() and (Path("runs") / run).is_dir():
        run = Path("runs") / run
    if out is not None:
        _check_out(out)
    if is_comparison(run):
        report_comparison(run, out, as_json)
        return
    found = read_run(run)
    page = write_pages(found, out)
    data = {
        **as_data(found),
        "remarks": remarks(found),
        "page": str(page),
        "picture": str(page.with_suffix(".png")),
    }
    if as_json:
        show_json(data)
        return
    click.echo(data["headline"])
    if data["scope"]:
        click.echo(f"Single run. The interval {data['scope']}.")
    for line in (data["state"], *data["notes"]):
        if line != "complete":
            click.echo(line)
    show_table(
        ("STAGE", "KIND", "STATUS", "STEPS", "TIME", "VERDICT"),
        [_row(stage) for stage in data["stages"]],
    )
    for line in data["remarks"]:
        click.echo(line)
    click.echo(f"page: {page}")


def report_comparison(path: Path, out: Path | None, as_json: bool) -> None:
    """The page of a comparison, and what it claims."""
    found, told = import_module("limite.evaluate.matched"), import_module(TOLD)
    comparison = found.comparison_of(path)
    page = import_module("limite.evaluate.matched_page").write_page(path, comparison, out)
    if as_json:
        show_json({**comparison, "page": str(page)})
        return
    show_comparison(comparison)
    for line in told.lines(comparison):
        click.echo(line)
    click.echo(f"page: {page}")


def show_comparison(comparison: dict[str, Any]) -> None:
    """Three tables: accuracy, paired differences, what each variant took."""
    told = import_module(TOLD)
    for rows in (told.score_rows, told.pair_rows, told.cost_rows):
        head, *body = rows(comparison)
        show_table(head, body, cut=False)
        click.echo()


def _check_out(out: Path) -> None:
    if out.is_dir():
        raise LimiteError(f"--out: {str(out)!r} is a folder; name the file, {out / 'report.html'}")
    if not out.absolute().parent.is_dir():
        raise LimiteError(f"--out: there is no folder {str(out.parent)!r}")
    if out.suffix.lower() not in (".html", ".htm"):
        raise LimiteError(f"--out: the page is HTML; name it {out.with_suffix('.html')}")


def _row(stage: dict[str, Any]) -> tuple[str, ...]:
    from limite.core.recipe.report import words

    return (
        stage["name"],
        stage["type"] or "–",
        stage["status"],
        words.count(stage["steps"]),
        words.duration(stage["time_s"]),
        stage["verdict"],
    )
