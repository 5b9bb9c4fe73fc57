"""``limite golden``: a decoder, or objectives, held to numbers of another implementation."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import attrs
import click

from limite.core.cli.table import show_json, show_table
from limite.core.discover import load_registry
from limite.core.errors import RunFailed

VECTORS = "limite.plugins.golden"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def golden(file: Path, as_json: bool) -> None:
    """Compare the decoder, or installed objectives, with golden numbers.

    FILE is a JSON. One with configuration and tolerances is of a decoder; its tensors lie in a
    safetensors file of the same name beside it. One with cases is of objectives: each case names
    an installed one by its settings. Prints how far off each quantity is; ends with 1 where one is
    too far.
    """
    from limite.core.pretrained.json_files import read_object

    vectors = importlib.import_module(VECTORS)
    if vectors.is_vectors(read_object(file) or {}):
        _of_objectives(vectors, file, as_json)
    else:
        _of_decoder(file, as_json)


def _of_decoder(file: Path, as_json: bool) -> None:
    from limite.core.pretrained.golden import Golden

    rows = Golden.read(file).compare()
    if as_json:
        show_json([{**attrs.asdict(row), "passed": row.passed} for row in rows])
    else:
        show_table(
            ("RUN", "WHAT", "DIFFERENCE", "TOLERANCE", ""),
            [
                (row.run, row.what, f"{row.found:.3g}", f"{row.limit:.3g}", _verdict(row.passed))
                for row in rows
            ],
        )
    failed = sum(not row.passed for row in rows)
    if failed:
        raise RunFailed(f"{failed} of {len(rows)} differences are above their tolerance")


def _of_objectives(vectors: Any, file: Path, as_json: bool) -> None:
    report = vectors.run_vectors(vectors.read_vectors(file), load_registry())
    if as_json:
        show_json(
            {
                "outcomes": [_as_json(outcome) for outcome in report.outcomes],
                "not_installed": [attrs.asdict(each) for each in report.unknown],
            }
        )
    else:
        _show(report)
    failed = report.failed
    if failed:
        cases = len({outcome.id for outcome in failed})
        of = len({outcome.id for outcome in report.outcomes})
        raise RunFailed(f"{cases} of {of} cases failed")
    if not report.outcomes:
        raise RunFailed("no case of the file could be run")


def _show(report: Any) -> None:
    rows = []
    for kind, dtype, outcomes in report.groups():
        shares = [outcome.worst for outcome in outcomes if outcome.worst is not None]
        failed = sum(not outcome.passed for outcome in outcomes)
        rows.append(
            (
                kind,
                dtype,
                str(len(outcomes)),
                str(sum(outcome.compared for outcome in outcomes)),
                f"{max(shares):.2g}" if shares else "-",
                f"{failed} failed" if failed else "ok",
            )
        )
    for each in report.unknown:
        rows.append((each.kind, "-", str(len(each.ids)), "0", "-", "not installed"))
    show_table(("KIND", "DTYPE", "CASES", "COMPARED", "WORST / TOLERANCE", ""), rows)
    for outcome in report.failed:
        for why in outcome.failures:
            click.echo(f"{outcome.id}  {outcome.dtype}  {why}")
    for each in report.unknown:
        click.echo(f"not run: {', '.join(each.ids)} (kind {each.kind!r}{each.nearest})")


def _as_json(outcome: Any) -> dict[str, Any]:
    fields = attrs.asdict(outcome)
    worst = fields["worst"]
    # JSON has no infinity; a number that is none is infinitely far off.
    fields["worst"] = worst if worst is None or worst < float("inf") else "Infinity"
    return {**fields, "passed": outcome.passed}


def _verdict(passed: bool) -> str:
    return "ok" if passed else "TOO FAR"
