"""``limite verify``: whether the files of a run are what they say."""

from __future__ import annotations

from pathlib import Path

import click

from limite.core.cli.table import show_json
from limite.core.errors import RunFailed

TOLD = 20


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every violation.")
def verify(run: Path, as_json: bool) -> None:
    """Check a run from its files alone, changing nothing.

    Every hash in its receipts and checkpoints is computed again, every response is held to the
    rules of budgets, endings and versions, and results are counted again. Ends with 1 at a
    violation, and names file and record. Of a matched comparison every run is checked, and that
    each is what the comparison says.
    """
    from limite.core.recipe.matched.folder import is_comparison
    from limite.core.recipe.verify import verify_run
    from limite.core.recipe.verify.run import as_data

    if not run.exists() and (Path("runs") / run).is_dir():
        run = Path("runs") / run
    if is_comparison(run):
        from limite.core.recipe.matched.verify import verify_comparison

        found = verify_comparison(run)
    else:
        found = verify_run(run)
    if as_json:
        show_json(as_data(found))
    else:
        for note in found.notes:
            click.echo(f"note: {note}")
        looked = ", ".join(counted(count, what) for what, count in found.counts.items())
        click.echo(f"{run}: {looked or 'nothing'}: {_verdict(len(found.violations))}")
    if found.violations:
        more = len(found.violations) - TOLD
        told = [str(each) for each in found.violations[:TOLD]]
        raise RunFailed("\n".join([*told, *([f"and {more:,} more"] if more > 0 else [])]))


def counted(count: int, what: str) -> str:
    """How many of a kind there are, in words."""
    return f"{count:,} {what.removesuffix('s') if count == 1 else what}"


def _verdict(violations: int) -> str:
    if not violations:
        return "all as the receipts say"
    return f"{violations:,} violation{'s' if violations > 1 else ''}"
