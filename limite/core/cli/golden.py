"""``limite golden``: a decoder held to numbers of another implementation."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from limite.core.cli.table import show_json, show_table
from limite.core.errors import RunFailed


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def golden(file: Path, as_json: bool) -> None:
    """Compare the decoder with golden numbers.

    FILE is a JSON with configuration and tolerances; the tensors lie in a safetensors file of the
    same name beside it. Prints how far off each quantity is; ends with 1 where one is too far.
    """
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


def _verdict(passed: bool) -> str:
    return "ok" if passed else "TOO FAR"
